import { getPriority } from 'node:os';
import { expect, test } from 'vitest';
import { inOwnProcess, type JobMessage, KeptProcess } from '../../../../pipelines/runtime/job-process.ts';

const program = {
  url: new URL('../../../fixtures/job-program.ts', import.meta.url),
  maxHeapMb: 64,
  env: { PATH: process.env.PATH },
};
const quiet = new AbortController().signal;
const nothing = () => {};
type TestMessage = JobMessage & { name: string; pid: number };

function lives(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

test('a process of its own runs one job and ends; other lines of its output are ignored', async () => {
  const run = inOwnProcess(program);
  const progress: JobMessage[] = [];
  const { answer, end } = await run({ name: 'one' }, (message) => progress.push(message), quiet);
  const { pid } = answer as TestMessage;
  expect(answer).toEqual({ kind: 'done', name: 'one', pid });
  expect(progress).toEqual([{ kind: 'progress', name: 'one', pid }]);
  expect(end).toBe('exit code 0');
  expect(lives(pid)).toBe(false);
});

test('a nice process lets other processes go first', async () => {
  const found: number[] = [];
  for (const niceness of [undefined, 7]) {
    const run = inOwnProcess({ ...program, ...(niceness && { niceness }) });
    await run({ name: 'one' }, (message) => found.push(getPriority((message as TestMessage).pid)), quiet);
  }
  expect(found).toEqual([getPriority(), 7]);
});

test('a kept process runs simultaneous jobs one after another, and ends when it is idle', async () => {
  const kept = new KeptProcess(program, 300);
  const order: string[] = [];
  const asked = ['one', 'two', 'three'].map(async (name) => {
    const { answer } = await kept.run({ name }, () => order.push(`begun ${name}`), quiet);
    order.push(`done ${name}`);
    return (answer as TestMessage).pid;
  });
  const [pid, ...others] = await Promise.all(asked);
  expect(others).toEqual([pid, pid]);
  expect(order).toEqual(['begun one', 'done one', 'begun two', 'done two', 'begun three', 'done three']);
  await expect.poll(() => lives(pid!), { timeout: 20_000 }).toBe(false);
  const { answer } = await kept.run({ name: 'later' }, nothing, quiet);
  expect((answer as TestMessage).pid).not.toBe(pid);
});

test('an abort kills the process before the promise rejects; the next job gets a new process', async () => {
  const kept = new KeptProcess(program, 300);
  const stop = new AbortController();
  let pid = 0;
  const hanging = kept.run(
    { name: 'one', does: 'hang' },
    (message) => {
      pid = (message as TestMessage).pid;
      stop.abort(new Error('asked to stop'));
    },
    stop.signal,
  );
  const waiting = kept.run({ name: 'two' }, nothing, quiet);
  await expect(hanging).rejects.toThrow('asked to stop');
  expect(lives(pid)).toBe(false);
  expect(((await waiting).answer as TestMessage).pid).not.toBe(pid);
  await expect(kept.run({ name: 'three' }, nothing, stop.signal)).rejects.toThrow('asked to stop');
});

test('the end of a process without an answer is reported, and the next job gets a new process', async () => {
  const kept = new KeptProcess(program, 300);
  const ended = await kept.run({ name: 'one', does: 'die' }, nothing, quiet);
  expect(ended).toEqual({ answer: null, end: 'exit code 9', errorText: 'out of luck' });
  expect((await kept.run({ name: 'two' }, nothing, quiet)).answer).toMatchObject({ kind: 'done', name: 'two' });
});
