import { expect, it } from 'vitest';
import { Notifier } from '../../../../workflows/delivery/in-flight.ts';

const longMs = 60_000;

it('a notification ends the wait', async () => {
  const notifier = new Notifier();
  const waiting = notifier.wait(longMs);
  notifier.notify();
  await waiting;
});

it('a notification between reset and wait is not lost; one before the reset is forgotten', async () => {
  const notifier = new Notifier();
  notifier.reset();
  notifier.notify();
  expect(await notifier.wait(longMs)).toBe(true);
  notifier.reset();
  expect(await notifier.wait(30)).toBe(false);
});

it('the timeout of an earlier wait does not end the next one', async () => {
  const notifier = new Notifier();
  await notifier.wait(1);
  const waiting = notifier.wait(longMs);
  notifier.notify();
  await waiting;
});
