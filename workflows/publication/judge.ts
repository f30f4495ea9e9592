import { type Archive, ArchiveError } from '../../pipelines/archive/archive.ts';
import { CompareError } from '../../pipelines/changes/errors.ts';
import { checkPublication } from '../../pipelines/diff/publication.ts';
import type { PublicationLimits } from '../../pipelines/diff/zip.ts';
import { isReverted, nextCorrection } from '../../pipelines/editions/corrections.ts';
import { findEdition, oldestUnfinishedEdition, recentCounts } from '../../pipelines/editions/editions.ts';
import { freezeEdition } from '../../pipelines/editions/freeze.ts';
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
import { differenceOf, gateFactsOf } from './comparison.ts';
import type { GateSettings } from './gate-settings.ts';
import { checkGates, failureText } from './gates.ts';
import type { FreezeOutcome, NextWork, StepOutcome } from './messages.ts';
import { type Place, placeOf } from './order.ts';

export interface PublishParts {
  pool: Pool;
  archive: Archive;
  zipLimits: PublicationLimits;
  gates: Readonly<Record<RegisterName, GateSettings>>;
  editionsToRepublish(register: RegisterName): Promise<readonly number[]>;
}

const next: StepOutcome = { outcome: 'next' };
const ended: StepOutcome = { outcome: 'ended' };
/** States in which a publication waits to become an edition. */
const waitingStates = ['descargada', 'verificada', 'comparada'] as const;

/**
 * What comes first in the register: what Kafka lost, an edition on its way, an operator's correction, then publications by
 * time. A paused register takes no publication.
 */
export async function nextWork(
  parts: Pick<PublishParts, 'pool' | 'editionsToRepublish'>,
  register: RegisterName,
): Promise<NextWork> {
  const edition = await oldestUnfinishedEdition(parts.pool, register);
  const [lost] = await parts.editionsToRepublish(register);
  if (lost !== undefined) return { kind: 'republish', edition: lost };
  if (edition !== null) return { kind: 'edition', edition };
  const correctionId = await nextCorrection(parts.pool, register);
  if (correctionId !== null) return { kind: 'correction', correctionId };
  if ((await readHead(parts.pool, register)).paused_at !== null) return { kind: 'none' };
  const publicationId = await nextPublication(parts.pool, register);
  return publicationId === null ? { kind: 'none' } : { kind: 'publication', publicationId };
}

/** `descargada → verificada`: it stands after the head, it holds one text, the text has the known header. */
export async function verifyPublication(parts: PublishParts, register: RegisterName, id: number): Promise<StepOutcome> {
  const place = await settlePlace(parts.pool, register, id);
  if (place !== 'next') return ended;
  const publication = await findPublication(parts.pool, id);
  if (publication?.state !== 'descargada') return next;
  try {
    const file = await parts.archive.localFile({ register, kind: 'publications', sha256: publication.sha256! });
    await checkPublication(register, file, parts.zipLimits);
  } catch (error) {
    return await quarantineFault(parts.pool, id, error);
  }
  await movePublication(parts.pool, id, { from: ['descargada'], to: 'verificada', reason: publication.state_reason });
  return next;
}

/** Ends a publication that cannot become the next edition; `next` when it can. In one transaction under the head's lock. */
function settlePlace(pool: Pool, register: RegisterName, id: number): Promise<Place | 'gone'> {
  return inTransaction(pool, async (client) => {
    const head = await readHead(client, register, true);
    const publication = await findPublication(client, id);
    if (publication === null || !(waitingStates as readonly string[]).includes(publication.state)) return 'gone';
    const reverted = await isReverted(client, register, publication.sha256 ?? '');
    const place = placeOf(
      { ...placed(publication), reverted },
      {
        sha256: head.publication_sha256,
        publishedAt: head.published_at,
        detectedAt: head.detected_at,
      },
    );
    if (place === 'next') return place;
    if (place === 'repeated') await moveDateForward(client, publication);
    const [to, reason] = endOf(place, publication, head);
    await movePublication(client, id, { from: waitingStates, to, reason });
    return place;
  });
}

function placed(publication: Publication) {
  const { sha256, published_at: publishedAt, detected_at: detectedAt } = publication;
  if (sha256 === null || publishedAt === null) throw new Error(`publication ${publication.id} has no hash or no date`);
  return { sha256, publishedAt, detectedAt, approved: isApproved(publication) };
}

function endOf(place: Exclude<Place, 'next'>, publication: Publication, head: Head) {
  const times = `published ${publication.published_at?.toISOString()}, edition ${head.edition} ${head.published_at?.toISOString()}`;
  switch (place) {
    case 'reverted':
      return ['en_cuarentena', 'reverted: these bytes were an edition that an operator has undone'] as const;
    case 'repeated':
      return ['repetida', `the same bytes as edition ${head.edition}`] as const;
    case 'superseded':
      return ['sustituida', `a newer publication became edition ${head.edition} first (${times})`] as const;
    case 'stale':
      return ['en_cuarentena', `date: the site went back to an older file (${times})`] as const;
  }
}

/** Judges a compared publication. The results are kept; an approved one goes on whatever they say. */
export async function judgePublication(parts: PublishParts, register: RegisterName, id: number): Promise<StepOutcome> {
  const publication = await findPublication(parts.pool, id);
  if (publication?.state !== 'comparada') return publication?.edition == null ? ended : next;
  const head = await readHead(parts.pool, register);
  const settings = parts.gates[register];
  const recent = await recentCounts(parts.pool, register, settings.medianEditions);
  const headEdition = await findEdition(parts.pool, register, head.edition);
  const results = checkGates(gateFactsOf(publication, head, headEdition, recent), settings);
  await recordGates(parts.pool, id, results);
  const failure = failureText(results);
  if (failure === null || isApproved(publication)) return next;
  await movePublication(parts.pool, id, { from: ['comparada'], to: 'en_cuarentena', reason: `gates: ${failure}` });
  return ended;
}

export async function freezePublication(parts: PublishParts, id: number): Promise<FreezeOutcome> {
  const publication = await findPublication(parts.pool, id);
  if (publication === null) return { outcome: 'not_compared', edition: null };
  if (publication.edition !== null) return { outcome: 'frozen', edition: publication.edition };
  if (publication.state !== 'comparada') return { outcome: 'not_compared', edition: null };
  return await freezeEdition(parts.pool, id, differenceOf(publication));
}

/** A publication at fault waits for an operator; any other failure is the step's own. */
export async function quarantineFault(pool: Pool, id: number, error: unknown): Promise<StepOutcome> {
  const reason = faultOf(error, 'approve this publication');
  if (reason === null) throw error;
  await movePublication(pool, id, { from: waitingStates, to: 'en_cuarentena', reason });
  return ended;
}

/**
 * What no further try can change, for an operator; null: another failure. An archive that lost a file is one: whatever needs
 * it would be tried for ever.
 */
export function faultOf(error: unknown, afterwards: string): string | null {
  if (error instanceof CompareError && !error.retryable) return `${error.code}: ${error.message}`;
  if (!(error instanceof ArchiveError) || error.code !== 'not_found') return null;
  return `archive_incomplete: ${error.message}: bring it back (the last part of its name is the SHA-256 of its bytes), then ${afterwards}`;
}
