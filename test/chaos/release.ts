import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { readLocalConfig, repositoryRoot } from '../../deploy/local/config.ts';
import { conclude } from './conclude.ts';

const runProgram = promisify(execFile);

interface LastRelease {
  version: string;
  /** All 40 digits. */
  commit: string;
}

/** Reads which release was the last one: the second heading of deploy/CHANGELOG.md, and the commit below it. */
export function readLastRelease(changelog = readFileSync(path.join(repositoryRoot, 'deploy/CHANGELOG.md'), 'utf8')) {
  const [, ...releases] = changelog.split(/^## /m).slice(1);
  const found = /^(\d+\.\d+\.\d+)[\s\S]*?\b([0-9a-f]{40})\b/.exec(releases[0] ?? '');
  if (found === null) throw new Error('deploy/CHANGELOG.md names no commit of the last release');
  return { version: found[1]!, commit: found[2]! } satisfies LastRelease;
}

interface ReleaseOptions {
  /** A statement that runs in PostgreSQL after the migrations, as a bad one would. */
  thenRun?: string | undefined;
  /** The last release's test files that run. */
  files?: readonly string[];
  log: (line: string) => void;
}

export interface ReleaseOutcome {
  /** Why nothing ran, or null. */
  skipped: string | null;
  faults: string[];
}

/** The api with every operation, its client, and the whole product: worker, consumers, deliveries. */
const endToEnd = ['test/e2e/api.test.ts', 'test/e2e/api-client.test.ts', 'test/e2e/chain.test.ts'];

/**
 * Runs tests of the last release, in a checkout of its commit, on databases that this release's migrations made. One file
 * of the checkout is replaced, pipelines/runtime/migrate.ts: it calls this release's. The libraries are this release's.
 */
export async function runLastRelease({ thenRun, files = endToEnd, log }: ReleaseOptions): Promise<ReleaseOutcome> {
  const { version, commit } = readLastRelease();
  const isThere = await runProgram('git', ['cat-file', '-e', `${commit}^{commit}`], { cwd: repositoryRoot }).then(
    () => true,
    () => false,
  );
  if (!isThere) {
    const skipped = `this clone lacks commit ${commit} of release ${version}: fetch the whole history (git fetch --unshallow)`;
    return { skipped, faults: [] };
  }
  const folder = mkdtempSync(path.join(tmpdir(), 'padron-last-release-'));
  try {
    const archive = path.join(folder, 'release.tar');
    const checkout = path.join(folder, 'padron');
    await runProgram('git', ['archive', '--prefix', 'padron/', '--output', archive, commit], { cwd: repositoryRoot });
    await runProgram('tar', ['-xf', archive, '-C', folder]);
    symlinkSync(path.join(repositoryRoot, 'node_modules'), path.join(checkout, 'node_modules'));
    writeFileSync(path.join(checkout, 'pipelines/runtime/migrate.ts'), thisReleasesMigrations(thenRun));
    log(`release ${version} at ${commit}: ${files.join(' ')}`);
    return { skipped: null, faults: await runTests(checkout, files, log) };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The text of a module that stands in the last release where its own migrations were. */
function thisReleasesMigrations(thenRun: string | undefined): string {
  const module = pathToFileURL(path.join(repositoryRoot, 'pipelines/runtime/migrate.ts')).href;
  return `import pg from 'pg';
const migrations = await import(${JSON.stringify(module)});
export const migrateClickhouse = (url: string): Promise<void> => migrations.migrateClickhouse(url);
export async function migratePostgres(url: string): Promise<string[]> {
  const applied: string[] = await migrations.migratePostgres(url);
  const thenRun = ${JSON.stringify(thenRun ?? '')};
  if (thenRun === '' || applied.length === 0) return applied;
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(thenRun);
  await client.end();
  return applied;
}
`;
}

async function runTests(checkout: string, files: readonly string[], log: (line: string) => void): Promise<string[]> {
  const child = spawn(process.execPath, ['node_modules/vitest/vitest.mjs', 'run', '--retry', '0', ...files], {
    cwd: checkout,
    env: { ...process.env, NO_COLOR: '1', PADRON_PROGRAMS_DIR: readLocalConfig().programsDirectory },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => {
      output += chunk;
    });
  }
  const [code] = (await once(child, 'close')) as [number | null];
  const lines = output.split('\n');
  for (const line of lines.filter((each) => /^ [✓❯×] \||^\s+(Test Files|Tests) |passed, \d+ failed/.test(each)))
    log(line);
  if (code === 0) return [];
  const failed = lines.filter((line) => /^\s*FAIL |^(error|[A-Za-z]*Error): /.test(line));
  return failed.length > 0 ? failed : [`the tests ended with ${code}:\n${lines.slice(-40).join('\n')}`];
}

/**
 * `--then SQL`. Runs the end-to-end tests of the last release, whose commit deploy/CHANGELOG.md names, on databases that
 * this release's migrations made. With `--then`, one more statement runs in PostgreSQL after them, to see the check
 * fail: --then 'ALTER TABLE watch_list DROP COLUMN referencia'. Exit code 0 only if all tests pass.
 */
export async function run(args: string[]): Promise<void> {
  const startedAt = Date.now();
  const thenRun = args.includes('--then') ? args[args.indexOf('--then') + 1] : undefined;
  const outcome = await runLastRelease({ thenRun, log: console.log });
  if (outcome.skipped === null) conclude(outcome.faults, startedAt);
  else console.log(`skipped: ${outcome.skipped}`);
}
