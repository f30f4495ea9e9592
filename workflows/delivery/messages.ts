/** What passes between workflow and activity: ids, counts and times; never payloads, addresses or secrets. */
import type { RateState } from './rate.ts';

export const wakeSignalName = 'wake';

export interface DeliverInput {
  webhookId: string;
  /** Carried from round to round, so that a new round does not start with a full bucket. */
  rate?: RateState;
}

export interface RoundResult {
  webhook: 'activo' | 'pausado' | 'eliminado';
  /** Until something is due: 0 at once, null nothing is. */
  nextInMs: number | null;
  rate: RateState;
  delivered: number;
  failed: number;
}
