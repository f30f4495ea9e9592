import type { RegisterName } from '../../schemas/registers.ts';

/** What workflows and activities tell each other: ids and counts, never rows. */
export const publicationQueue = 'publication';

export interface RegisterInput {
  register: RegisterName;
}

/** Says to a running `publish` that there may be more to do. */
export const archivedSignalName = 'archived';

export type ProbeOutcome =
  | { outcome: 'nothing_new'; publicationId: number | null }
  | { outcome: 'new'; publicationId: number };

export interface FetchOutcome {
  /** `known`: these bytes with this date had been fetched before. */
  outcome: 'archived' | 'known' | 'quarantined';
  publicationId: number;
}

/** Result of the `fetch` workflow. */
export interface FetchResult {
  outcome: 'nothing_new' | 'archived' | 'quarantined';
  publicationId: number | null;
}

export type NextWork =
  | { kind: 'publication'; publicationId: number }
  | { kind: 'edition'; edition: number }
  /** An operator's order to undo an edition. */
  | { kind: 'correction'; correctionId: number }
  /** Kafka lost the end of this edition: it is written there again from its change file. */
  | { kind: 'republish'; edition: number }
  | { kind: 'none' };

/** `ended`: the publication reached a final state (quarantined, repeated, superseded) and needs nothing more. */
export type StepOutcome = { outcome: 'next' } | { outcome: 'ended' };

export type FreezeOutcome =
  | { outcome: 'frozen'; edition: number }
  | { outcome: 'head_moved' | 'head_not_materialised' | 'not_compared' | 'paused'; edition: null };

/** Result of one run of the `publish` workflow. */
export interface PublishResult {
  publications: number;
  editions: number;
}

/** `skipped`: nothing to compare yet, or an edition is on its way. */
export interface ReconcileOutcome {
  outcome: 'equal' | 'different' | 'skipped';
}

export interface ReconcileInput {
  registers: readonly RegisterName[];
}

/** Registers by outcome of one run of the `reconcile` workflow; `failed` could not be checked. */
export type ReconcileResult = Record<ReconcileOutcome['outcome'] | 'failed', number>;

export const reconcileId = 'reconcile';

export function fetchWorkflowId(register: RegisterName): string {
  return `fetch/${register}`;
}
export function publishWorkflowId(register: RegisterName): string {
  return `publish/${register}`;
}
export function scheduleId(register: RegisterName): string {
  return `register/${register}`;
}
