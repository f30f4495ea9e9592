import type { Client } from '@temporalio/client';
import { expect, it, vi } from 'vitest';
import { makeWake } from '../../../../pipelines/webhooks/work.ts';

/** A Temporal client that keeps every signal waiting until `answer` or `refuse` is called. */
function heldClient() {
  const sent: string[] = [];
  const held: { answer: () => void; refuse: (error: Error) => void }[] = [];
  const signalWithStart = (_type: string, { workflowId }: { workflowId: string }) =>
    new Promise<void>((answer, refuse) => {
      sent.push(workflowId.replace('delivery/', ''));
      held.push({ answer, refuse });
    });
  const client = {
    withDeadline: (_at: number, call: () => Promise<void>) => call(),
    workflow: { signalWithStart },
  } as unknown as Client;
  const until = (count: number) => vi.waitFor(() => expect(sent).toHaveLength(count));
  return { client, sent, held, until };
}

it('a webhook that waits for its turn is woken once for all calls, and once more if its wake-up was already sent', async () => {
  const { client, sent, held, until } = heldClient();
  const wake = makeWake(client, { inParallel: 1, deadlineMs: 1_000 });
  const calls = [wake(['a', 'b']), wake(['b', 'a']), wake(['a', 'b'])];
  for (let count = 1; count <= 3; count += 1) {
    await until(count);
    held[count - 1]!.answer();
  }
  await Promise.all(calls);
  expect(sent).toEqual(['a', 'b', 'a']);
});

it('a failed wake-up rejects all calls that asked for it, and the others go on', async () => {
  const { client, sent, held, until } = heldClient();
  const wake = makeWake(client, { inParallel: 2, deadlineMs: 1_000 });
  const outcomes = Promise.allSettled([wake(['a', 'b', 'c']), wake(['c', 'd']), wake(['d'])]);
  await until(2);
  for (const one of held.slice(0, 2)) one.answer();
  await until(4);
  held[2]!.refuse(new Error('unavailable'));
  held[3]!.answer();
  expect((await outcomes).map(({ status }) => status)).toEqual(['rejected', 'rejected', 'fulfilled']);
  expect(sent).toEqual(['a', 'b', 'c', 'd']);
});
