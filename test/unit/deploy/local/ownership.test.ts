import { type ChildProcess, spawn } from 'node:child_process';
import { copyFileSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { choosePorts, portNames } from '../../../../deploy/local/ports.ts';
import {
  descendantsOf,
  identify,
  isAlive,
  LockHeldError,
  lockOwner,
  signalProcess,
  takeLock,
} from '../../../../deploy/local/process.ts';
import { endLeftovers } from '../../../../deploy/local/supervise.ts';

let folder: string;
const started: ChildProcess[] = [];
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'padron-ownership-'));
});
afterEach(() => {
  for (const child of started.splice(0)) child.kill('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
});

function sleeper(command = 'sleep 60'): number {
  const child = spawn('sh', ['-c', command], { stdio: 'ignore' });
  started.push(child);
  return child.pid!;
}

async function until(condition: () => boolean): Promise<void> {
  await expect.poll(condition, { interval: 20 }).toBe(true);
}

test('a process is distinguished from a later one with the same number', async () => {
  const identity = identify(sleeper())!;
  expect(isAlive(identity)).toBe(true);
  const later = { ...identity, startedAt: 'another start' };
  expect(isAlive(later)).toBe(false);
  signalProcess(later, 'SIGKILL');
  expect(isAlive(identity)).toBe(true);
  signalProcess(identity, 'SIGKILL');
  await until(() => !isAlive(identity));
  expect(() => signalProcess(identity, 'SIGKILL')).not.toThrow();
});

test('descendants are found to the last generation', async () => {
  const pid = sleeper('sh -c "sleep 61 & wait" & wait');
  await until(() => descendantsOf(pid).length === 2);
  for (const one of descendantsOf(pid)) signalProcess(one, 'SIGKILL');
});

test('a lock has one living owner', () => {
  const file = path.join(folder, 'stack.lock');
  const release = takeLock(file);
  expect(() => takeLock(file)).toThrow(LockHeldError);
  expect(lockOwner(file)?.pid).toBe(process.pid);
  release();
  expect(lockOwner(file)).toBeUndefined();
  const releaseNext = takeLock(file);
  release();
  expect(lockOwner(file)?.pid).toBe(process.pid); // a second release does not free the next owner's lock
  releaseNext();
  expect(readdirSync(folder)).toEqual([]);
});

test.each([
  ['a dead process', JSON.stringify({ pid: 999_999_999, startedAt: 'x' })],
  ['a number that somebody else has now', JSON.stringify({ pid: process.ppid, startedAt: 'long ago' })],
  ['half a file', '{"pid": 12'],
  ['an empty file', ''],
])('a lock left by %s is taken over', (_case, content) => {
  const file = path.join(folder, 'stack.lock');
  writeFileSync(file, content);
  expect(lockOwner(file)).toBeUndefined();
  takeLock(file);
  expect(lockOwner(file)?.pid).toBe(process.pid);
  expect(readdirSync(folder)).toEqual(['stack.lock']);
});

test('left-over processes are ended with their children; a reused number is left alone', async () => {
  const left = identify(sleeper('sleep 62 & wait'))!;
  const stranger = identify(sleeper())!;
  await until(() => descendantsOf(left.pid).length === 1);
  const child = descendantsOf(left.pid)[0]!;
  writeFileSync(path.join(folder, 'kafka.pid'), JSON.stringify(left));
  writeFileSync(path.join(folder, 'temporal.pid'), JSON.stringify({ ...stranger, startedAt: 'another start' }));
  writeFileSync(path.join(folder, 'registry.pid'), 'not json');
  const lines: string[] = [];
  await endLeftovers(folder, (line) => lines.push(line));
  expect([left, child, stranger].map(isAlive)).toEqual([false, false, true]);
  expect(readdirSync(folder)).toEqual([]);
  expect(lines).toEqual([`kafka: process ${left.pid} is left from a stack that crashed, ending it`]);
});

test('a left-over that ignores the request to end is killed', async () => {
  const left = identify(sleeper('trap "" TERM; while :; do sleep 1; done'))!;
  writeFileSync(path.join(folder, 'kafka.pid'), JSON.stringify(left));
  await endLeftovers(folder, () => undefined);
  expect(isAlive(left)).toBe(false);
});

test('ports are kept while free, chosen anew when taken, and outside the range of outgoing connections', async () => {
  const file = path.join(folder, 'ports.json');
  const first = await choosePorts(file);
  first.release();
  expect(new Set(Object.values(first.ports)).size).toBe(portNames.length);
  for (const port of Object.values(first.ports)) expect(port).toBeLessThan(32_768);
  const again = await choosePorts(file);
  expect(again.ports).toEqual(first.ports);
  again.release();
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(first.ports.kafka, '127.0.0.1', resolve));
  const second = await choosePorts(file);
  server.close();
  second.release();
  expect(second.ports.kafka).not.toBe(first.ports.kafka);
  expect({ ...second.ports, kafka: first.ports.kafka }).toEqual(first.ports);
});

test('a port that another stack has chosen and does not use yet is not chosen', async () => {
  const first = await choosePorts(path.join(folder, 'first.json'));
  copyFileSync(path.join(folder, 'first.json'), path.join(folder, 'second.json')); // both starts want the same ports
  const second = await choosePorts(path.join(folder, 'second.json'));
  const all = [...Object.values(first.ports), ...Object.values(second.ports)];
  expect(new Set(all).size).toBe(2 * portNames.length);
  first.release();
  second.release();
});
