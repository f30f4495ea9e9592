import type { RegisterName } from '../../schemas/registers.ts';

/** Limits of the gates (gates.ts). Shares are parts of 1. */
export interface GateSettings {
  /** Rows beside the previous edition's. */
  minRowsShare: number;
  /** Lines that are no row. */
  maxRejectedShare: number;
  /** Changed rows of a kind: the larger of a share and a multiple of what is usual. */
  maxChangedShare: number;
  /** Companies in which one watched column changed: likewise. */
  maxColumnChangedShare: number;
  /** Multiple of the median of the last editions that is still usual; 0: only the share counts. */
  changedMedianFactor: number;
  /** How many editions say what is usual. */
  medianEditions: number;
  maxDeletedShare: number;
  /** How far the share of empty cells of a column may move. */
  maxEmptyShareMove: number;
  /** Notices beside the median of the last editions, per watched company. */
  noticesMedianFactor: number;
  /** Fewer affected rows, or notices, than this never fail: a share of so few would say nothing. */
  minAffectedRows: number;
}

/** The daily register on a normal day: 0.14 % changed, 0.004 % deleted. */
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
 * Small lists change in batches, by resolution: nothing for weeks, then a tenth of the list in a day. Their medians are
 * mostly 0 and say nothing, so only the shares count.
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
 * A month moves what thirty days move in the daily register, and workers are counted anew: up to half of the rows, or
 * twice what has been usual (an approved edition counts). It is a subset that grows and shrinks more than the daily one.
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
