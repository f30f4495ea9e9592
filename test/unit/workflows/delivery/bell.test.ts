import { expect, it } from 'vitest';
import { Bell } from '../../../../workflows/delivery/underway.ts';

const longMs = 60_000;

it('a ring ends the wait', async () => {
  const bell = new Bell();
  const waiting = bell.wait(longMs);
  bell.ring();
  await waiting;
});

it('a ring between silence and wait is not missed; one before the silence is forgotten', async () => {
  const bell = new Bell();
  bell.silence();
  bell.ring();
  await bell.wait(longMs);
  bell.silence();
  const began = performance.now();
  await bell.wait(30);
  expect(performance.now() - began).toBeGreaterThanOrEqual(25);
});

it('the time of a wait that was over does not end the next one', async () => {
  const bell = new Bell();
  await bell.wait(1);
  const waiting = bell.wait(longMs);
  bell.ring();
  await waiting;
});
