import type { RegisterName } from '../../schemas/registers.ts';

/** Limits of the gates (gates.ts). A share is a number from 0 to 1. */
export interface GateSettings {
  /** Least number of rows, as a share of the previous edition's rows. */
  minRowsShare: number;
  /** Largest share of lines that may be rejected. */
  maxRejectedShare: number;
  /** Largest share of companies' rows, and of all other rows, that may change. `changedMedianFactor` may raise it. */
  maxChangedShare: number;
  /** Largest share of companies in which one watched column may change. `changedMedianFactor` may raise it. */
  maxColumnChangedShare: number;
  /**
   * Raises the limits `maxChangedShare` and `maxColumnChangedShare`. If this number × the last editions' median share
   * is larger than the setting, the product is the limit. With 0, the settings are always the limits.
   */
  changedMedianFactor: number;
  /** Number of last editions from which a median is taken. */
  medianEditions: number;
  maxDeletedShare: number;
  /** How far a column's share of empty cells may move from one edition to the next. */
  maxEmptyShareMove: number;
  /**
   * Largest number of events per member of a watch list, as a multiple of the last editions' median. The limit is at
   * least `maxColumnChangedShare`. With 0, it is always that share.
   */
  noticesMedianFactor: number;
  /** A gate on rows, cells or events passes if fewer than this are affected: a share of so few means nothing. */
  minAffectedRows: number;
}

/**
 * On a normal day 0.14 % of the daily register's rows change and 0.004 % are deleted. The limits of these two shares
 * are several times higher: 1 % and 0.1 %.
 */
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
 * Small lists change in batches, by resolution: nothing changes for weeks, then a tenth of the list changes in a day.
 * The median of their changes is mostly 0, so only the shares are limits.
 */
export const smallListGates: GateSettings = {
  ...dailyRegisterGates,
  minRowsShare: 0.8,
  maxChangedShare: 0.2,
  maxColumnChangedShare: 0.2,
  changedMedianFactor: 0,
  noticesMedianFactor: 0,
  maxDeletedShare: 0.2,
  maxEmptyShareMove: 0.2,
};

/**
 * A monthly edition has the changes of thirty days and new counts of workers. So half of its rows may change, or twice
 * the last editions' median share if that is larger. Editions that an operator approved count in the median. The number
 * of rows moves more than the daily register's, because this register has only some of the taxpayers.
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
