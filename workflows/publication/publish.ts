import { setTimeout as delay } from 'node:timers/promises';
import {
  findEdition,
  oldestUnfinishedEdition,
  recordMaterialised,
  recordNotified,
} from '../../pipelines/editions/editions.ts';
import { recordReconciliation } from '../../pipelines/editions/freshness.ts';
import { readHead } from '../../pipelines/editions/heads.ts';
import type { VerifyProgress, VerifyReport } from '../../pipelines/replay/types.ts';
import type { Logger } from '../../pipelines/runtime/log.ts';
import type { Pool } from '../../pipelines/runtime/postgres.ts';
import type { Acknowledged } from '../../pipelines/stream/produce.ts';
import type { RegisterName } from '../../schemas/registers.ts';
import type { ReconcileOutcome } from './messages.ts';

export interface PublishEditionInput {
  register: RegisterName;
  edition: number;
  /** `once` leaves an edition alone that is in Kafka already; `again` is for one whose end Kafka has lost. */
  mode: 'once' | 'again';
  /** How far an earlier run of this step had come. */
  acknowledged?: Acknowledged;
}

export interface EditionParts {
  pool: Pool;
  /**
   * Writes the edition's change file to Kafka in a child process, going on where it stopped, and marks it `publicada`.
   * The child is killed and awaited when `signal` aborts.
   */
  produce(input: PublishEditionInput, report: (progress: unknown) => void, signal: AbortSignal): Promise<void>;
  /** By offsets, then by count. @throws a typed error when the offsets are there and the count is not */
  isMaterialised(register: RegisterName, edition: number): Promise<boolean>;
  /** Whether `watch` has committed past the edition's end. */
  isNotified(register: RegisterName, edition: number): Promise<boolean>;
  waits: WaitLimits;
}

export interface WaitLimits {
  pollEveryMs: number;
  /** How long one activity waits before it says `false`; the workflow asks again. */
  waitAtMostMs: number;
}

export async function publishEdition(
  parts: EditionParts,
  input: PublishEditionInput,
  report: (progress: unknown) => void,
  signal: AbortSignal,
): Promise<void> {
  const edition = await findEdition(parts.pool, input.register, input.edition);
  if (edition === null) throw new Error(`${input.register} has no edition ${input.edition}`);
  if (edition.publicada_at !== null && input.mode === 'once') return;
  await parts.produce(input, report, signal);
}

/** True once the state in ClickHouse is the edition's; false after a while without that. */
export function awaitMaterialised(parts: EditionParts, ...asked: Wait): Promise<boolean> {
  return waitAndRecord(parts, parts.isMaterialised, recordMaterialised, asked);
}

/** True once every notice of the edition is written. */
export function awaitNotified(parts: EditionParts, ...asked: Wait): Promise<boolean> {
  return waitAndRecord(parts, parts.isNotified, recordNotified, asked);
}

type Wait = [register: RegisterName, edition: number, beat: () => void, signal: AbortSignal];

/** Recording is set once and repeatable: a death between the check and it repeats the check. */
function waitAndRecord(
  parts: EditionParts,
  holds: EditionParts['isMaterialised'],
  record: typeof recordMaterialised,
  [register, edition, beat, signal]: Wait,
): Promise<boolean> {
  return waitFor(parts.waits, beat, signal, async () => {
    if (!(await holds(register, edition))) return false;
    await record(parts.pool, register, edition);
    return true;
  });
}

async function waitFor(
  waits: WaitLimits,
  beat: () => void,
  signal: AbortSignal,
  isDone: () => Promise<boolean>,
): Promise<boolean> {
  const deadline = Date.now() + waits.waitAtMostMs;
  for (;;) {
    if (await isDone()) return true;
    if (Date.now() >= deadline) return false;
    beat();
    await delay(waits.pollEveryMs, undefined, { signal });
  }
}

export interface ReconcileParts {
  pool: Pool;
  log: Logger;
  /**
   * Compares the head's state in ClickHouse with the archive in a child process, killed and awaited when `signal` aborts.
   * Null: the register has no edition, or one is on its way.
   */
  verify(
    register: RegisterName,
    report: (progress: VerifyProgress) => void,
    signal: AbortSignal,
  ): Promise<VerifyReport | null>;
}

/**
 * The daily check of one register. A difference is an alert (log, metric, `padron registers`) and never repaired by itself:
 * `padron rebuild` is an operator's decision. A death before the row is written repeats the check.
 */
export async function reconcileRegister(
  parts: ReconcileParts,
  register: RegisterName,
  report: (progress: VerifyProgress) => void,
  signal: AbortSignal,
): Promise<ReconcileOutcome> {
  if (await isMoving(parts.pool, register)) return { outcome: 'skipped' };
  const found = await parts.verify(register, report, signal);
  if (found === null) return { outcome: 'skipped' };
  const { edition, equal, rows, differences, ...detail } = found;
  // An edition that began meanwhile writes rows that the verified one does not have.
  if (!equal && (await isMoving(parts.pool, register, edition))) return { outcome: 'skipped' };
  await recordReconciliation(parts.pool, { register, edition, equal, rows, differences, detail });
  if (equal) return { outcome: 'equal' };
  const { state, names, history, publication, listed } = found;
  parts.log.error(
    { register, edition, differences, state, names, history, publication, listed },
    'the state differs from the archive: see padron verify',
  );
  return { outcome: 'different' };
}

async function isMoving(pool: Pool, register: RegisterName, edition?: number): Promise<boolean> {
  if ((await oldestUnfinishedEdition(pool, register)) !== null) return true;
  return edition !== undefined && (await readHead(pool, register)).edition !== edition;
}
