import type { RegisterName } from '../../schemas/registers.ts';

// Messages between workflows and activities hold ids and counts, never rows.

export const publicationQueue = 'publication';

export interface RegisterInput {
  register: RegisterName;
}

/** The signal that wakes a running `publish` workflow, because there may be more work. */
export const archivedSignalName = 'archived';

/** The connection of a running step with Temporal. */
export interface StepRun {
  /** Sends progress in a heartbeat. If the step has to run again, the next run can read the last progress. */
  report(progress: unknown): void;
  /** Aborts when the step is cancelled or makes no progress any more. */
  signal: AbortSignal;
}

export type ProbeOutcome =
  | { outcome: 'nothing_new'; publicationId: number | null }
  | { outcome: 'new'; publicationId: number };

export interface FetchOutcome {
  /** `known`: the same bytes with the same time of publication were fetched before. */
  outcome: 'archived' | 'known' | 'quarantined';
  publicationId: number;
}

/** The result of the `fetch` workflow. */
export interface FetchResult {
  outcome: 'nothing_new' | 'archived' | 'quarantined';
  publicationId: number | null;
}

export type NextWork =
  | { kind: 'publication'; publicationId: number }
  | { kind: 'edition'; edition: number }
  /** An operator's order to undo an edition. */
  | { kind: 'correction'; correctionId: number }
  /** Kafka has lost at least the last records of this edition, so its change file is produced again. */
  | { kind: 'republish'; edition: number }
  | { kind: 'none' };

/** `ended`: no further step is needed, for example because the publication was quarantined or repeats the head. */
export type StepOutcome = { outcome: 'next' } | { outcome: 'ended' };

/** The result of one run of the `publish` workflow. */
export interface PublishResult {
  publications: number;
  editions: number;
}

/** `skipped`: the register has no edition yet, or has an unfinished edition. */
export interface ReconcileOutcome {
  outcome: 'equal' | 'different' | 'skipped';
}

export interface ReconcileInput {
  registers: readonly RegisterName[];
}

/** Number of registers by outcome in one run of `reconcile`. `failed` counts registers whose check failed. */
export type ReconcileResult = Record<ReconcileOutcome['outcome'] | 'failed', number>;

export function publishWorkflowId(register: RegisterName): string {
  return `publish/${register}`;
}
