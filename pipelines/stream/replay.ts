import { replayHeader, StreamError } from './ports.ts';
import { knownEdition, type PublishInput, type PublishParts, sendChangeFile } from './publish.ts';
import type { PublisherDone } from './publisher/child.ts';
import type { PublisherProgress } from './publisher/job.ts';

/**
 * Sends an edition's change file into its changes topic once more, with the header `replay` on each record and nothing
 * noted in the catalogue. Repeatable; dying half way leaves records that stand twice, which readers take as one.
 * @throws StreamError `edition_not_announced`: watchers are still to be told of it by the records that stand there already
 */
export async function replayInChild(
  parts: Pick<PublishParts, 'pool' | 'brokers' | 'registry' | 'prefix' | 'log'>,
  input: Pick<PublishInput, 'register' | 'edition' | 'changeFile'>,
  report: (progress: PublisherProgress) => void,
  signal: AbortSignal,
): Promise<PublisherDone> {
  const row = await knownEdition(parts.pool, input.register, input.edition);
  if (row.avisada_at === null) {
    const message = `edition ${row.number} of ${row.register} is on its way: it can be replayed once it is announced`;
    throw new StreamError('edition_not_announced', message, { retryable: false });
  }
  const recordHeaders = { [replayHeader]: String(row.number) };
  const done = await sendChangeFile(parts, row, { changeFile: input.changeFile, recordHeaders }, report, signal);
  parts.log.info({ register: row.register, edition: row.number, rows: done.rows }, 'edition replayed');
  return done;
}
