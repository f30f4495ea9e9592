import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { afterEach, expect, test } from 'vitest';

const program = fileURLToPath(new URL('../../../support/process/logging-process.ts', import.meta.url));
const started: ChildProcess[] = [];
afterEach(() => {
  for (const child of started.splice(0)) child.kill('SIGKILL');
});

/** Starts a process that writes both logs all the time, and goes away as their reader. */
async function startUnread(...args: string[]) {
  const child = spawn(process.execPath, ['--import', 'tsx', program, ...args], { stdio: 'pipe' });
  started.push(child);
  await once(child.stdout, 'data');
  child.stdout.destroy();
  return { child, ended: once(child, 'exit').then(([code]) => code as number | null) };
}

test('a process whose log nobody reads any more goes on until SIGTERM, and then ends', async () => {
  const { child, ended } = await startUnread();
  let rounds = 0;
  child.stderr.on('data', (dots: Buffer) => {
    rounds += dots.length;
  });
  await expect.poll(() => rounds).toBeGreaterThan(30);
  child.kill('SIGTERM');
  expect(await ended).toBe(0);
});

test('a process whose log nobody reads any more ends after a failure', async () => {
  const { child, ended } = await startUnread('fails');
  child.stdin.end();
  expect(await ended).toBe(1);
});
