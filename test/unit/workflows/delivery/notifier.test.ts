import { expect, it } from 'vitest';
import { Notifier } from '../../../../workflows/delivery/in-flight.ts';

const longMs = 60_000;

it('a ring ends the wait', async () => {
  const notifier = new Notifier();
  const waiting = notifier.wait(longMs);
  notifier.notify();
  await waiting;
});

it('a ring between silence and wait is not missed; one before the silence is forgotten', async () => {
  const notifier = new Notifier();
  notifier.reset();
  notifier.notify();
  await notifier.wait(longMs);
  notifier.reset();
  const began = performance.now();
  await notifier.wait(30);
  expect(performance.now() - began).toBeGreaterThanOrEqual(25);
});

it('the time of a wait that was over does not end the next one', async () => {
  const notifier = new Notifier();
  await notifier.wait(1);
  const waiting = notifier.wait(longMs);
  notifier.notify();
  await waiting;
});
