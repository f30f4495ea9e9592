import { type Archive, isLost, lostRemedy } from '../../pipelines/archive/archive.ts';
import { CompareError } from '../../pipelines/changes/errors.ts';
import { checkPublication } from '../../pipelines/diff/publication.ts';
import type { PublicationLimits } from '../../pipelines/diff/zip.ts';
import { noteHeld, streamAheadReason } from '../../pipelines/editions/adopt.ts';
import { isReverted, nextCorrection } from '../../pipelines/editions/corrections.ts';
import { findEdition, oldestUnfinishedEdition, recentCounts } from '../../pipelines/editions/editions.ts';
import { type Head, moveDateForward, readHead } from '../../pipelines/editions/heads.ts';
import {
  findPublication,
  isApproved,
  movePublication,
  nextPublication,
  type Publication,
  recordGates,
} from '../../pipelines/editions/publications.ts';
import { inTransaction, type Pool } from '../../pipelines/runtime/postgres.ts';
import type { RegisterName } from '../../schemas/registers.ts';
import type { CatalogueGuard } from './catalogue-guard.ts';
import { gateFactsOf } from './comparison.ts';
import type { GateSettings } from './gate-settings.ts';
import { checkGates, failureText } from './gates.ts';
import type { NextWork, StepOutcome } from './messages.ts';

export interface PublishDependencies {
  pool: Pool;
  archive: Archive;
  zipLimits: PublicationLimits;
  gates: Readonly<Record<RegisterName, GateSettings>>;
  editionsToRepublish(register: RegisterName): Promise<readonly number[]>;
  guard: Pick<CatalogueGuard, 'problemOf' | 'freeze'>;
}

const next: StepOutcome = { outcome: 'next' };
const ended: StepOutcome = { outcome: 'ended' };
/** The states in which a publication waits to become an edition. */
const waitingStates = ['descargada', 'verificada', 'comparada'] as const;

/**
 * Finds the register's next work: first an edition that Kafka has lost (`editionsToRepublish`), then an unfinished
 * edition, then an operator's correction, then the waiting publication that was published first. A paused register
 * takes no publication. While Kafka or ClickHouse is ahead of the catalogue, there is no work, and the reason is noted
 * on the waiting publication or correction.
 */
export async function nextWork(
  dependencies: Pick<PublishDependencies, 'pool' | 'editionsToRepublish' | 'guard'>,
  register: RegisterName,
): Promise<NextWork> {
  const { pool, guard } = dependencies;
  const edition = await oldestUnfinishedEdition(pool, register);
  const [lost] = await dependencies.editionsToRepublish(register);
  const problem = await guard.problemOf(register);
  // Here the catalogue lacks an edition that Kafka or ClickHouse has. An earlier, unfinished edition then cannot be
  // finished either: the lacking one has replaced some of its rows in ClickHouse, so the check of their number fails.
  if (problem?.startsWith(streamAheadReason)) return await held(pool, register, problem);
  if (lost !== undefined) return { kind: 'republish', edition: lost };
  if (edition !== null) return { kind: 'edition', edition };
  if (problem !== null) return await held(pool, register, problem);
  const correctionId = await nextCorrection(pool, register);
  if (correctionId !== null) return { kind: 'correction', correctionId };
  if ((await readHead(pool, register)).paused_at !== null) return { kind: 'none' };
  const publicationId = await nextPublication(pool, register);
  return publicationId === null ? { kind: 'none' } : { kind: 'publication', publicationId };
}

async function held(pool: Pool, register: RegisterName, problem: string): Promise<NextWork> {
  await noteHeld(pool, register, problem);
  return { kind: 'none' };
}

/**
 * Moves a publication from `descargada` to `verificada`, if it may become the next edition (`placeOf`) and its file
 * holds one text with the register's header.
 */
export async function verifyPublication(
  dependencies: PublishDependencies,
  register: RegisterName,
  id: number,
): Promise<StepOutcome> {
  if ((await settlePlace(dependencies.pool, register, id)) !== 'next') return ended;
  const publication = await findPublication(dependencies.pool, id);
  if (publication?.state !== 'descargada') return next;
  try {
    const file = await dependencies.archive.localFile({ register, kind: 'publications', sha256: publication.sha256! });
    await checkPublication(register, file, dependencies.zipLimits);
  } catch (error) {
    return await quarantineFault(dependencies.pool, id, error);
  }
  const reason = publication.state_reason;
  await movePublication(dependencies.pool, id, { from: ['descargada'], to: 'verificada', reason });
  return next;
}

/**
 * Returns a publication's `Place` relative to the head, or `gone` if the publication no longer waits. If the place is
 * not `next`, the same transaction moves the publication to quarantine or to a final state (see `endOf`).
 */
function settlePlace(pool: Pool, register: RegisterName, id: number): Promise<Place | 'gone'> {
  return inTransaction(pool, async (client) => {
    const head = await readHead(client, register, true);
    const publication = await findPublication(client, id);
    if (publication === null || !(waitingStates as readonly string[]).includes(publication.state)) return 'gone';
    const reverted = await isReverted(client, register, publication.sha256 ?? '');
    const place = placeOf(publication, head, reverted);
    if (place === 'next') return place;
    if (place === 'repeated') await moveDateForward(client, publication);
    const [to, reason] = endOf(place, publication, head);
    await movePublication(client, id, { from: waitingStates, to, reason });
    return place;
  });
}

/**
 * The place of a publication relative to its register's head:
 * - `next`: it may become the next edition. Its time may equal the head's time.
 * - `reverted`: an operator has undone the edition that was made from these bytes, but the site still offers these
 *   bytes. An operator decides. An approved publication is compared like any other. `reverted` is checked
 *   before `repeated`, because the head still names the undone publication.
 * - `repeated`: it has the same bytes as the head, so only the register's date moves.
 * - `superseded`: a newer publication became the head while this one waited, or before an operator approved this one.
 * - `stale`: the site went back to an older file after the head was made, so an operator decides.
 */
type Place = 'next' | 'reverted' | 'repeated' | 'superseded' | 'stale';

/** @param reverted whether an operator has undone the edition that was made from these bytes */
export function placeOf(
  publication: Pick<Publication, 'id' | 'sha256' | 'published_at' | 'detected_at' | 'decided_by' | 'state'>,
  head: Pick<Head, 'publication_sha256' | 'published_at' | 'detected_at'>,
  reverted: boolean,
): Place {
  const { id, sha256, published_at, detected_at } = publication;
  if (sha256 === null || published_at === null) throw new Error(`publication ${id} has no hash or no date`);
  const approved = isApproved(publication);
  if (reverted && !approved) return 'reverted';
  if (head.publication_sha256 === sha256 && !reverted) return 'repeated';
  if (head.published_at === null || published_at >= head.published_at) return 'next';
  const waited = head.detected_at !== null && detected_at < head.detected_at;
  return waited || approved ? 'superseded' : 'stale';
}

function endOf(place: Exclude<Place, 'next'>, publication: Publication, head: Head) {
  const times = `published ${publication.published_at?.toISOString()}, edition ${head.edition} ${head.published_at?.toISOString()}`;
  switch (place) {
    case 'reverted':
      return ['en_cuarentena', 'reverted: these bytes were an edition that an operator has undone'] as const;
    case 'repeated':
      return ['repetida', `the same bytes as edition ${head.edition}`] as const;
    case 'superseded':
      return [
        'sustituida',
        `edition ${head.edition} is newer, and an older file never replaces it (${times})`,
      ] as const;
    case 'stale':
      return ['en_cuarentena', `date: the site went back to an older file (${times})`] as const;
  }
}

/** Runs the gates on a compared publication and stores the results. An approved publication passes in any case. */
export async function judgePublication(
  dependencies: PublishDependencies,
  register: RegisterName,
  id: number,
): Promise<StepOutcome> {
  const publication = await findPublication(dependencies.pool, id);
  if (publication?.state !== 'comparada') return publication?.edition == null ? ended : next;
  const head = await readHead(dependencies.pool, register);
  const settings = dependencies.gates[register];
  const recent = await recentCounts(dependencies.pool, register, settings.medianEditions);
  const headEdition = await findEdition(dependencies.pool, register, head.edition);
  const results = checkGates(gateFactsOf(publication, head, headEdition, recent), settings);
  await recordGates(dependencies.pool, id, results);
  const failure = failureText(results);
  if (failure === null || isApproved(publication)) return next;
  const reason = `gates: ${failure}`;
  await movePublication(dependencies.pool, id, { from: ['comparada'], to: 'en_cuarentena', reason });
  return ended;
}

/** Puts a publication in quarantine if no retry can mend the error (faultOf()). Throws any other error again. */
export async function quarantineFault(pool: Pool, id: number, error: unknown): Promise<StepOutcome> {
  const reason = faultOf(error, approveCommand(id));
  if (reason === null) throw error;
  await movePublication(pool, id, { from: waitingStates, to: 'en_cuarentena', reason });
  return ended;
}

/**
 * If no retry can mend the error, returns the reason as a text for an operator. Otherwise returns null. A file that the
 * archive lost, or whose bytes are damaged there, is also a reason, because the step that needs the file would be
 * retried for ever.
 * @param command what the operator must run when the right file is back
 */
export function faultOf(error: unknown, command: string): string | null {
  if (error instanceof CompareError && !error.retryable) return `${error.code}: ${error.message}`;
  if (!isLost(error)) return null;
  const reason = error.code === 'not_found' ? 'archive_incomplete' : 'archive_damaged';
  return `${reason}: ${error.message}; ${lostRemedy}, then: ${command}`;
}

export function approveCommand(id: number): string {
  return `npx padron publications approve ${id}`;
}
