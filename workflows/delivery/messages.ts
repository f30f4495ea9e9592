/** What passes between workflow and activity: ids, counts and times; never payloads, addresses or secrets. */
import type { RateState } from './rate.ts';

export const wakeSignalName = 'wake';
export const slowQueueName = 'delivery-slow';

export interface DeliverInput {
  webhookId: string;
  /** Carried from round to round, so that a new round does not start with a full bucket. */
  rate?: RateState;
  /** The endpoint is slow: its rounds run on the queue of those. Left out: it is not. */
  slow?: boolean;
}

export interface RoundResult {
  webhook: 'activo' | 'pausado' | 'eliminado';
  /** Until something is due: 0 at once, null nothing is. */
  nextInMs: number | null;
  rate: RateState;
  /** Where the next round belongs, as in DeliverInput. Rounds recorded by earlier releases do not say. */
  slow?: boolean;
  delivered: number;
  failed: number;
}
