import { chmodSync, chownSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { repositoryRoot } from '../../../deploy/local/config.ts';
import { type Stack, startStack } from '../../../deploy/local/stack.ts';
import { apiSecrets } from '../../support/api/process.ts';
import { Containers, npmCacheInBuild } from '../../support/deploy/containers.ts';
import type { ToolContext } from '../../support/deploy/tools.ts';
import { freePort } from '../../support/process/free-port.ts';

// The image is built and each of its processes runs against the local stack, with the rights that they have in
// production. The official base image cannot be had without a registry of images, so another one with the same programs
// takes its place.

const user = 10001;
const minutes = 60_000;
const folder = mkdtempSync(path.join(tmpdir(), 'padron-image-'));
const archive = path.join(folder, 'archive');
let containers: Containers | undefined;
let stack: Stack | undefined;

afterAll(async () => {
  await containers?.remove();
  await stack?.stop();
  rmSync(folder, { recursive: true, force: true });
});

async function built(context: ToolContext): Promise<Containers> {
  if (containers) return containers;
  const made = await Containers.for(context);
  const image = path.join(repositoryRoot, 'deploy', 'image');
  await made.buildNodeBase('localhost/node');
  const cache = path.join(homedir(), '.npm');
  mkdirSync(cache, { recursive: true });
  await made.build(
    'localhost/padron',
    path.join(image, 'Containerfile'),
    repositoryRoot,
    ...['--ignorefile', path.join(image, 'Containerfile.dockerignore')],
    ...['--build-arg', 'BASE=localhost/node', '--build-arg', 'BUILD_ID=built-by-a-test'],
    ...['--volume', `${cache}:${npmCacheInBuild}`],
  );
  containers = made;
  return made;
}

async function running(context: ToolContext): Promise<{ image: Containers; environment: Record<string, string> }> {
  const image = await built(context);
  // The user of the processes can enter the folder, and write to the archive alone.
  chmodSync(folder, 0o755);
  mkdirSync(archive, { recursive: true });
  chownSync(archive, user, user);
  stack ??= await startStack({ directory: path.join(folder, 'stack'), addresses: {}, log: () => {} });
  const { WORK_DIR: _, TEMPORAL_UI_URL: __, ...endpoints } = stack.endpoints;
  return { image, environment: { ...endpoints, ...apiSecrets, ARCHIVE_URL: 'file:///var/lib/padron/archive' } };
}

const mounts = [`${archive}:/var/lib/padron/archive`];

/** Runs JavaScript in a container of the image and returns what it prints. */
async function evaluate(image: Containers, code: string): Promise<unknown> {
  const rights = image.runArguments({}, []);
  const printed = await image.podman(
    'run',
    '--rm',
    ...rights,
    '--entrypoint',
    'node',
    'localhost/padron',
    '--eval',
    code,
  );
  return JSON.parse(printed);
}

it('is built with the production dependencies, their list and no npm', async (context) => {
  const image = await built(context);
  const found = await evaluate(
    image,
    `const fs = require('node:fs');
     const sbom = JSON.parse(fs.readFileSync('/app/sbom.cdx.json', 'utf8'));
     const has = (file) => fs.existsSync(file);
     console.log(JSON.stringify({
       format: sbom.bomFormat, names: sbom.components.map(({ name }) => name),
       npm: has('/usr/local/bin/npm'), vitest: has('/app/node_modules/vitest'), tests: has('/app/test'),
       git: has('/app/.git'), local: has('/app/.local'), build: process.env.PADRON_BUILD_ID,
     }));`,
  );
  expect(found).toMatchObject({
    format: 'CycloneDX',
    npm: false,
    vitest: false,
    tests: false,
    git: false,
    local: false,
    build: 'built-by-a-test',
  });
  const { names } = found as { names: string[] };
  expect(names).toEqual(expect.arrayContaining(['koa', 'pg', 'kafkajs']));
  expect(names).not.toContain('vitest');
});

it('runs without rights, on a root that it cannot write to', async (context) => {
  const image = await built(context);
  const found = await evaluate(
    image,
    `const fs = require('node:fs');
     const write = (file) => { try { fs.writeFileSync(file, ''); return 'written'; } catch (error) { return error.code; } };
     const status = fs.readFileSync('/proc/self/status', 'utf8');
     console.log(JSON.stringify({
       user: process.getuid(), group: process.getgid(), rights: /CapEff:\\s*(\\w+)/.exec(status)[1],
       bounding: /CapBnd:\\s*(\\w+)/.exec(status)[1], noNewRights: /NoNewPrivs:\\s*(\\d)/.exec(status)[1],
       root: write('/app/api/main.ts'), temporary: write('/tmp/file'),
     }));`,
  );
  const none = '0000000000000000';
  expect(found).toEqual({
    ...{ user, group: user, rights: none, bounding: none, noNewRights: '1' },
    ...{ root: 'EROFS', temporary: 'written' },
  });
});

it('migrates empty engines, again and again', async (context) => {
  const { image, environment } = await running(context);
  const migrate = () =>
    image.podman(
      ...['run', '--rm', ...image.runArguments(environment, mounts)],
      ...['localhost/padron', 'deploy/cli/padron.js', 'migrate'],
    );
  expect(await migrate()).toContain('Everything is up to date.');
  expect(await migrate()).toContain('Everything is up to date.');
});

const programs = { api: 'api/main.ts', consumers: 'pipelines/consumers/main.ts', worker: 'workflows/main.ts' };

it.for(Object.entries(programs))('runs %s, which is healthy and stops when asked', async ([name, program], context) => {
  const { image, environment } = await running(context);
  const [health, http] = [await freePort(), await freePort()];
  const settings = { ...environment, HEALTH_PORT: String(health), HTTP_PORT: String(http) };
  const rights = image.runArguments(settings, mounts);
  const work = name === 'worker' ? ['--mount', 'type=tmpfs,destination=/var/lib/padron/work,tmpfs-mode=1777'] : [];
  await image.podman('run', '--detach', '--name', name, ...rights, ...work, 'localhost/padron', program);
  const answer = async (route: string) =>
    fetch(`http://127.0.0.1:${health}${route}`).then(
      ({ status }) => status,
      () => null,
    );
  try {
    await expect.poll(() => answer('/healthz'), { timeout: 3 * minutes, interval: 250 }).toBe(200);
    // The api becomes ready only when registers are loaded.
    if (name !== 'api') await expect.poll(() => answer('/readyz'), { timeout: minutes, interval: 250 }).toBe(200);
    expect(await answer('/metrics')).toBe(200);
  } catch (error) {
    throw new Error(`${name}: ${(await image.tryPodman('logs', name)).output.slice(-4_000)}`, { cause: error });
  }
  await image.podman('stop', '--time', '45', name);
  expect((await image.podman('inspect', '--format', '{{.State.ExitCode}}', name)).trim()).toBe('0');
});

it('names a base that cannot change', () => {
  const containerfile = readFileSync(path.join(repositoryRoot, 'deploy', 'image', 'Containerfile'), 'utf8');
  expect(containerfile).toMatch(/^ARG BASE=docker\.io\/library\/node:24-bookworm-slim@sha256:[0-9a-f]{64}$/m);
});
