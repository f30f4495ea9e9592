import { type PublishParts, replayInChild } from '../stream/publish.ts';
import { ReplayError } from './errors.ts';
import type { SelectedEdition } from './selection.ts';

/**
 * Sends these editions into the register's changes topic once more, oldest first, each record with the header `replay`. All of
 * them are looked at before the first is sent. Dying half way leaves some of them twice in the topic, which readers take as one.
 * @throws ReplayError `edition_not_notified`; StreamError
 */
export async function replayIntoKafka(
  parts: Pick<PublishParts, 'pool' | 'brokers' | 'registry' | 'prefix' | 'log'>,
  editions: readonly SelectedEdition[],
  report: (rows: number) => void,
  signal: AbortSignal,
): Promise<number> {
  const early = editions.find(({ notified }) => !notified);
  if (early !== undefined) {
    const what = `edition ${early.edition} of ${early.register} is on its way: replay it once its notices are written`;
    throw new ReplayError('edition_not_notified', what, { retryable: true });
  }
  let sent = 0;
  for (const { register, edition, path } of editions) {
    const input = { register, edition, changeFile: path };
    const done = await replayInChild(parts, input, ({ rows }) => report(sent + rows), signal);
    sent += done.rows;
    report(sent);
  }
  return sent;
}
