import type { RegisterName } from '../../schemas/registers.ts';
import type { Archive } from '../archive/archive.ts';
import { sha256OfFile } from '../archive/local-copies.ts';
import { openChangeFile } from '../changes/change-file.ts';
import { adoptEdition } from '../editions/adopt.ts';
import { type ArchivedEdition, EditionArchive } from '../editions/edition-archive.ts';
import { readHead } from '../editions/heads.ts';
import type { Logger } from '../runtime/log.ts';
import { type CheckDependencies, compareCatalogue } from './catalogue-check.ts';
import { StreamError } from './kafka.ts';
import { takeProduced } from './produce.ts';

interface AdoptionDependencies extends CheckDependencies {
  archive: Archive;
  archiveUrl: string;
}

/** An edition that Kafka or ClickHouse has and the catalogue lost. */
export interface LostEdition {
  register: RegisterName;
  number: number;
  /** Date of the data, YYYY-MM-DD. */
  fecha_dato: string;
  changes: number;
  corrects: number | null;
  change_file_sha256: string;
  /**
   * Whether Kafka has all of it, as its record in the editions topic says. If not, the worker produces its change file
   * again, and watched companies get its events as if they were new.
   */
  in_kafka: boolean;
  archived: ArchivedEdition;
}

/**
 * Finds the editions of a register that a restored catalogue lost, oldest first, and changes nothing. The archive may
 * have several editions of one number. The right one has the hash that the edition's record in the editions topic
 * names. If there is no record, because the producer died or Kafka was restored too, the right one is the only one that
 * continues the edition before it.
 * @throws StreamError `edition_lost` if the archive lacks an edition, or has several that could be it; `stream_differs`
 *   if Kafka has another content of an edition that the catalogue has
 */
export async function findLostEditions(
  dependencies: AdoptionDependencies,
  register: RegisterName,
): Promise<LostEdition[]> {
  const { pool, archive, archiveUrl } = dependencies;
  const found = await compareCatalogue(dependencies, register, 'adoption');
  if (found.newest === found.edition) {
    if (found.problem?.startsWith('stream_differs')) throw new StreamError('stream_differs', found.problem);
    return [];
  }
  const editions = new EditionArchive(archiveUrl);
  let base = (await readHead(pool, register)).change_file_sha256 ?? '';
  const lost: LostEdition[] = [];
  for (let number = found.edition + 1; number <= found.newest; number += 1) {
    const record = found.records.findLast(({ edition }) => edition === number);
    const named = (await editions.find(register, number)).filter(
      ({ edition }) => record === undefined || edition.change_file_sha256 === record.change_file_sha256,
    );
    const following: ArchivedEdition[] = [];
    for (const one of named) if (await continues(archive, register, one, base)) following.push(one);
    const [archived, another] = following;
    if (archived === undefined || another !== undefined) throw notFound(register, number, following.length);
    const { fecha_dato, changes, corrects, change_file_sha256 } = archived.edition;
    const facts = { register, number, fecha_dato, changes, corrects, change_file_sha256 };
    lost.push({ ...facts, in_kafka: record !== undefined, archived });
    base = change_file_sha256;
  }
  return lost;
}

/** Whether the archive has the edition's change file whole, and the file continues the edition with the hash `base`. */
async function continues(
  archive: Archive,
  register: RegisterName,
  { edition }: ArchivedEdition,
  base: string,
): Promise<boolean> {
  const sha256 = edition.change_file_sha256;
  if ((await archive.size({ register, kind: 'changes', sha256 })) === null) return false;
  const path = await archive.localFile({ register, kind: 'changes', sha256 });
  if ((await sha256OfFile(path)) !== sha256) return false;
  const file = await openChangeFile(path);
  await file.close();
  return file.header.register === register && file.header.edition === edition.number && file.header.baseSha256 === base;
}

function notFound(register: RegisterName, number: number, candidates: number): StreamError {
  const what = candidates === 0 ? 'has not all files of it' : `has ${candidates} that could be it`;
  const message =
    `edition ${number} of ${register} cannot be brought back, because the archive ${what}: restore the archive ` +
    `(editions/${register}/${number}.* and the change file whose hash is in that name), or PostgreSQL from a later backup`;
  return new StreamError('edition_lost', message);
}

/**
 * Brings these editions into the catalogue, each in a transaction of its own, and then marks those that Kafka has whole
 * as produced. If the process dies in between, a repeat brings back the editions that are still missing. An edition
 * that was not marked does no harm: before the worker produces it, `takeProduced` finds it in Kafka and marks it.
 */
export async function adoptEditions(
  dependencies: AdoptionDependencies & { log: Logger },
  lost: readonly LostEdition[],
): Promise<void> {
  const { pool, archive } = dependencies;
  for (const { register, archived } of lost) await adoptEdition(pool, register, archived);
  // Marks each edition that Kafka has whole as produced (`publicada_at`) now, although the worker would do so later. If
  // ClickHouse has lost rows too, an operator runs `padron rebuild` next, which makes the rows again. It refuses a
  // register whose newest edition is not marked.
  for (const { register, number: edition, change_file_sha256: sha256 } of lost.filter((one) => one.in_kafka)) {
    const changeFile = await archive.localFile({ register, kind: 'changes', sha256 });
    await takeProduced(dependencies, { register, edition, changeFile });
  }
}
