import type { RegisterName } from '../../schemas/registers.ts';

/** Limits of the gates (gates.ts). A share is a part of 1. */
export interface GateSettings {
  /** Least share of the previous edition's rows. */
  minRowsShare: number;
  /** Largest share of rejected lines. */
  maxRejectedShare: number;
  /** Largest share of changed rows in a kind; `changedMedianFactor` may raise it. */
  maxChangedShare: number;
  /** Largest share of companies in which one watched column changed; `changedMedianFactor` may raise it. */
  maxColumnChangedShare: number;
  /** Multiple of the last editions' median that raises a limit; 0 leaves the limit at its share. */
  changedMedianFactor: number;
  /** Number of editions in that median. */
  medianEditions: number;
  maxDeletedShare: number;
  /** How far a column's share of empty cells may move. */
  maxEmptyShareMove: number;
  /** Largest multiple of the last editions' median of events per watched company. */
  noticesMedianFactor: number;
  /** Fewer affected rows or events than this never fail: a share of so few means nothing. */
  minAffectedRows: number;
}

/** On a normal day 0.14 % of the daily register's rows change and 0.004 % are deleted. */
export const dailyRegisterGates: GateSettings = {
  minRowsShare: 0.98,
  maxRejectedShare: 0.0001,
  maxChangedShare: 0.01,
  maxColumnChangedShare: 0.01,
  changedMedianFactor: 10,
  medianEditions: 14,
  maxDeletedShare: 0.001,
  maxEmptyShareMove: 0.02,
  noticesMedianFactor: 10,
  minAffectedRows: 100,
};

/**
 * Small lists change in batches, by resolution: nothing for weeks, then a tenth of the list in a day. Most of their
 * medians are 0, so only the shares count.
 */
export const smallListGates: GateSettings = {
  ...dailyRegisterGates,
  minRowsShare: 0.8,
  maxChangedShare: 0.2,
  maxColumnChangedShare: 0.2,
  changedMedianFactor: 0,
  maxDeletedShare: 0.2,
  maxEmptyShareMove: 0.2,
};

/**
 * A month brings the changes of thirty days and new counts of workers, so up to half of the rows may change, or twice
 * the median of the last editions, approved ones included. This part of the taxpayers grows and shrinks more than the
 * whole.
 */
export const monthlyRegisterGates: GateSettings = {
  ...dailyRegisterGates,
  minRowsShare: 0.9,
  maxChangedShare: 0.5,
  changedMedianFactor: 2,
  maxDeletedShare: 0.1,
  maxEmptyShareMove: 0.05,
};

export const gatesByRegister: Readonly<Record<RegisterName, GateSettings>> = {
  padron_reducido: dailyRegisterGates,
  padron_mensual: monthlyRegisterGates,
  agentes_retencion: smallListGates,
  buenos_contribuyentes: smallListGates,
  sancionados: smallListGates,
  inhabilitaciones_judiciales: smallListGates,
  inhabilitaciones_administrativas: smallListGates,
};
