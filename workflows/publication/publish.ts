import { setTimeout as delay } from 'node:timers/promises';
import {
  findEdition,
  oldestUnfinishedEdition,
  recordMaterialised,
  recordNotified,
} from '../../pipelines/editions/editions.ts';
import { recordReconciliation } from '../../pipelines/editions/freshness.ts';
import { readHead } from '../../pipelines/editions/heads.ts';
import type { VerifyReport } from '../../pipelines/replay/types.ts';
import type { Logger } from '../../pipelines/runtime/log.ts';
import type { Pool } from '../../pipelines/runtime/postgres.ts';
import type { Acknowledged } from '../../pipelines/stream/produce.ts';
import type { RegisterName } from '../../schemas/registers.ts';
import type { ReconcileOutcome, StepRun } from './messages.ts';

export interface PublishEditionInput {
  register: RegisterName;
  edition: number;
  /** `once` skips an edition that is already in Kafka. `again` produces it once more, because Kafka has lost it. */
  mode: 'once' | 'again';
  /** What Kafka acknowledged in an earlier run of this step. */
  acknowledged?: Acknowledged;
}

export interface EditionDependencies extends StepRun {
  pool: Pool;
  /**
   * Writes the edition's change file to Kafka in a child process, from where an earlier run stopped. Then marks the
   * edition `publicada`. When `signal` aborts, the child is killed and awaited.
   */
  produce(input: PublishEditionInput, report: StepRun['report'], signal: AbortSignal): Promise<void>;
  /**
   * Whether ClickHouse has the edition's complete state (checkMaterialised in pipelines/stream/progress.ts).
   * @throws StreamError if the consumer `materialize` has read the whole edition, but the number of rows is wrong
   */
  isMaterialised(register: RegisterName, edition: number): Promise<boolean>;
  /** Whether all events of the edition are written: Kafka's group `watch` has committed past the edition's end. */
  isNotified(register: RegisterName, edition: number): Promise<boolean>;
  waits: WaitLimits;
}

export interface WaitLimits {
  pollEveryMs: number;
  /** How long one activity waits before it returns `false`. The workflow then asks again. */
  waitAtMostMs: number;
}

export async function publishEdition(dependencies: EditionDependencies, input: PublishEditionInput): Promise<void> {
  const edition = await findEdition(dependencies.pool, input.register, input.edition);
  if (edition === null) throw new Error(`${input.register} has no edition ${input.edition}`);
  if (edition.publicada_at !== null && input.mode === 'once') return;
  await dependencies.produce(input, dependencies.report, dependencies.signal);
}

type Wait = [register: RegisterName, edition: number];

/** Returns true once ClickHouse holds the edition's state, or false when that takes longer than `waitAtMostMs`. */
export function awaitMaterialised(dependencies: EditionDependencies, ...edition: Wait): Promise<boolean> {
  return waitAndRecord(dependencies, edition, dependencies.isMaterialised, recordMaterialised);
}

/** Returns true once every event of the edition is written, or false when that takes longer than `waitAtMostMs`. */
export function awaitNotified(dependencies: EditionDependencies, ...edition: Wait): Promise<boolean> {
  return waitAndRecord(dependencies, edition, dependencies.isNotified, recordNotified);
}

async function waitAndRecord(
  { pool, waits, signal }: EditionDependencies,
  edition: Wait,
  holds: (...edition: Wait) => Promise<boolean>,
  record: typeof recordMaterialised,
): Promise<boolean> {
  const deadline = Date.now() + waits.waitAtMostMs;
  while (!(await holds(...edition))) {
    if (Date.now() >= deadline) return false;
    await delay(waits.pollEveryMs, undefined, { signal });
  }
  // If the process dies here, the repeat checks again. Recording twice changes nothing.
  await record(pool, ...edition);
  return true;
}

export interface ReconcileDependencies extends StepRun {
  pool: Pool;
  log: Logger;
  /**
   * Compares the head's state in ClickHouse with the archive in a child process. When `signal` aborts, the child is
   * killed and awaited. Returns null when the register has no edition, or an unfinished one.
   */
  verify(register: RegisterName, report: StepRun['report'], signal: AbortSignal): Promise<VerifyReport | null>;
}

/**
 * Runs the daily check of one register. A difference raises an alert (log, metric, `padron registers`) and is not
 * repaired, because `padron rebuild` is an operator's decision. If the process dies before the result is recorded, the
 * check runs again.
 */
export async function reconcileRegister(
  dependencies: ReconcileDependencies,
  register: RegisterName,
): Promise<ReconcileOutcome> {
  if (await isMoving(dependencies.pool, register)) return { outcome: 'skipped' };
  const found = await dependencies.verify(register, dependencies.report, dependencies.signal);
  if (found === null) return { outcome: 'skipped' };
  const { edition, equal, rows, differences, ...detail } = found;
  // If an edition began during the check, the difference may only be rows that this new edition has already written. So
  // the check does not count.
  if (!equal && (await isMoving(dependencies.pool, register, edition))) return { outcome: 'skipped' };
  await recordReconciliation(dependencies.pool, { register, edition, equal, rows, differences, detail });
  if (equal) return { outcome: 'equal' };
  const { state, names, history, publication, listed } = found;
  dependencies.log.error(
    { register, edition, differences, state, names, history, publication, listed },
    'the state differs from the archive: see padron verify',
  );
  return { outcome: 'different' };
}

async function isMoving(pool: Pool, register: RegisterName, edition?: number): Promise<boolean> {
  if ((await oldestUnfinishedEdition(pool, register)) !== null) return true;
  return edition !== undefined && (await readHead(pool, register)).edition !== edition;
}
