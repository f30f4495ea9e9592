import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { expect, test } from 'vitest';
import { within } from '../../../../pipelines/runtime/lifecycle.ts';

test('what has not answered in time is an error of a store that does not answer', async () => {
  await expect(within(5, new Promise(() => {}))).rejects.toMatchObject({ code: 'no_answer' });
});

const answerer = `
  const { parentPort, workerData } = require('node:worker_threads');
  parentPort.postMessage('answer');
  workerData[0] = 1;
`;

test('an answer that came while the process was busy counts, though the time is over', async () => {
  const sent = new Int32Array(new SharedArrayBuffer(4));
  const worker = new Worker(answerer, { eval: true, workerData: sent });
  const answer = within(20, once(worker, 'message'));
  const busyUntil = performance.now() + 100;
  while (Atomics.load(sent, 0) === 0 || performance.now() < busyUntil);
  expect(await answer).toEqual(['answer']);
  await worker.terminate();
});
