import type { GateSettings } from './gate-settings.ts';

// A gate is a condition that a publication must meet before it becomes an edition. Gates are pure functions of facts.
// If a gate fails, the publication goes into quarantine and the live data stays as it is. An operator's approval
// overrules gates, but it never overrules a broken file.

export interface KindFacts {
  kind: string;
  previousRows: number;
  changed: number;
  deleted: number;
  /** This kind's shares of changed rows in the last editions, in any order. */
  usualChangedShares: readonly number[];
}

export interface ColumnFacts {
  column: string;
  /** Null when the previous edition was read by another parser or lacked the column. */
  emptyBefore: number | null;
  emptyNow: number;
  /** Companies in which the column changed; null for a column that makes no events. */
  changedCompanies: number | null;
  /** Shares of companies in which the column changed in the last editions, in any order. */
  usualChangedShares: readonly number[];
}

export interface NoticeFacts {
  /** Events that the edition would make over all watch lists. */
  notices: number;
  watchedCompanies: number;
  /** Events per watched company in the last editions, in any order, without editions when no company was watched. */
  usualPerCompany: readonly number[];
}

export interface GateFacts {
  fechaDato: string;
  rows: number;
  rejected: number;
  /** Null for a first edition. */
  previous: {
    fechaDato: string;
    rows: number;
    companies: number;
    kinds: readonly KindFacts[];
    columns: readonly ColumnFacts[];
    /** Rows in which an empty cell of the file kept the previous edition's value. */
    keptCells: number;
    /** Null for a register that makes no events. */
    notices: NoticeFacts | null;
  } | null;
}

export interface GateResult {
  gate: string;
  value: number | string;
  limit: number | string;
  passed: boolean;
  text: string;
}

/** Checks all gates, in the order in which an operator reads them. */
export function checkGates(facts: GateFacts, settings: GateSettings): GateResult[] {
  const results = [headerGate, rejectedGate(facts, settings)];
  const { previous } = facts;
  if (previous === null) return results;
  results.push(dateGate(facts.fechaDato, previous.fechaDato), rowsGate(facts.rows, previous.rows, settings));
  for (const kind of previous.kinds) results.push(changedGate(kind, settings), deletedGate(kind, settings));
  for (const column of previous.columns) {
    if (column.changedCompanies !== null) {
      results.push(columnGate(column, column.changedCompanies, previous.companies, settings));
    }
    if (column.emptyBefore !== null) {
      results.push(emptyGate(column, column.emptyBefore, facts.rows, previous.rows, settings));
    }
  }
  results.push(keptGate(previous.keptCells, facts.rows, settings));
  if (previous.notices !== null) results.push(noticesGate(previous.notices, settings));
  return results;
}

/** The failed gates as one line for an operator; null when all passed. */
export function failureText(results: readonly GateResult[]): string | null {
  const failed = results.filter((result) => !result.passed);
  return failed.length === 0 ? null : failed.map((result) => result.text).join('; ');
}

/** Always passes, because a file with another header was refused before. It only shows operators the check. */
const headerGate: GateResult = {
  gate: 'header',
  value: 'known',
  limit: 'known',
  passed: true,
  text: 'the header is the known one',
};

function rejectedGate({ rows, rejected }: GateFacts, settings: GateSettings): GateResult {
  const share = shareOf(rejected, rows + rejected);
  return {
    gate: 'rejected',
    value: share,
    limit: settings.maxRejectedShare,
    passed: tooFew(rejected, settings) || share <= settings.maxRejectedShare,
    text: `${rejected} of ${rows + rejected} lines are no row (${percent(share)}, limit ${percent(settings.maxRejectedShare)})`,
  };
}

function dateGate(date: string, headDate: string): GateResult {
  return {
    gate: 'date',
    value: date,
    limit: headDate,
    passed: date >= headDate,
    text: `its date ${date} beside the current edition's ${headDate}`,
  };
}

function rowsGate(rows: number, previousRows: number, settings: GateSettings): GateResult {
  const share = previousRows === 0 ? 1 : rows / previousRows;
  return {
    gate: 'rows',
    value: share,
    limit: settings.minRowsShare,
    passed: tooFew(previousRows - rows, settings) || share >= settings.minRowsShare,
    text: `${rows} rows where the previous edition has ${previousRows} (${percent(share)}, at least ${percent(settings.minRowsShare)})`,
  };
}

function changedGate(kind: KindFacts, settings: GateSettings): GateResult {
  const share = shareOf(kind.changed, kind.previousRows);
  const limit = usualLimit(settings.maxChangedShare, kind.usualChangedShares, settings);
  return {
    gate: `changed.${kind.kind}`,
    value: share,
    limit,
    passed: tooFew(kind.changed, settings) || share <= limit,
    text: `${kind.changed} of ${kind.previousRows} rows of kind ${kind.kind} changed (${percent(share)}, limit ${percent(limit)})`,
  };
}

function deletedGate(kind: KindFacts, settings: GateSettings): GateResult {
  const share = shareOf(kind.deleted, kind.previousRows);
  return {
    gate: `deleted.${kind.kind}`,
    value: share,
    limit: settings.maxDeletedShare,
    passed: tooFew(kind.deleted, settings) || share <= settings.maxDeletedShare,
    text: `${kind.deleted} of ${kind.previousRows} rows of kind ${kind.kind} disappeared (${percent(share)}, limit ${percent(settings.maxDeletedShare)})`,
  };
}

function columnGate(
  { column, usualChangedShares }: ColumnFacts,
  changed: number,
  companies: number,
  settings: GateSettings,
): GateResult {
  const share = shareOf(changed, companies);
  const limit = usualLimit(settings.maxColumnChangedShare, usualChangedShares, settings);
  return {
    gate: `column.${column}`,
    value: share,
    limit,
    passed: tooFew(changed, settings) || share <= limit,
    text: `${column} changed in ${changed} of ${companies} companies (${percent(share)}, limit ${percent(limit)})`,
  };
}

function emptyGate(
  { column, emptyNow }: ColumnFacts,
  emptyBefore: number,
  rows: number,
  previousRows: number,
  settings: GateSettings,
): GateResult {
  const move = Math.abs(shareOf(emptyNow, rows) - shareOf(emptyBefore, previousRows));
  return {
    gate: `empty.${column}`,
    value: move,
    limit: settings.maxEmptyShareMove,
    passed: tooFew(Math.abs(emptyNow - emptyBefore), settings) || move <= settings.maxEmptyShareMove,
    text: `${column} is empty in ${emptyNow} of ${rows} rows, before in ${emptyBefore} of ${previousRows} (moved by ${percent(move)}, limit ${percent(settings.maxEmptyShareMove)})`,
  };
}

/** In some columns an empty cell keeps its old value, so only this gate notices that the source emptied the column. */
function keptGate(keptCells: number, rows: number, settings: GateSettings): GateResult {
  const share = shareOf(keptCells, rows);
  return {
    gate: 'kept',
    value: share,
    limit: settings.maxEmptyShareMove,
    passed: tooFew(keptCells, settings) || share <= settings.maxEmptyShareMove,
    text: `${keptCells} of ${rows} rows have an empty cell that never is empty (${percent(share)}, limit ${percent(settings.maxEmptyShareMove)})`,
  };
}

/**
 * Compares the events per watched company with the last editions. A customer's new long list therefore does not stop
 * the register. If no earlier edition has this number, only the gates on changed rows and columns decide.
 */
function noticesGate({ notices, watchedCompanies, usualPerCompany }: NoticeFacts, settings: GateSettings): GateResult {
  const known = usualPerCompany.slice(0, settings.medianEditions);
  const usual = median(known) * watchedCompanies;
  const limit = Math.max(settings.minAffectedRows, Math.ceil(settings.noticesMedianFactor * usual));
  const text = `it would make ${notices} notices over ${watchedCompanies} watched companies`;
  return {
    gate: 'notices',
    value: notices,
    limit: known.length === 0 ? 'unknown' : limit,
    passed: known.length === 0 || tooFew(notices, settings) || notices <= limit,
    text: known.length === 0 ? `${text}; no earlier edition says what is usual` : `${text} (limit ${limit})`,
  };
}

/** The larger of a share and a multiple of the last editions' median. */
function usualLimit(share: number, usual: readonly number[], settings: GateSettings): number {
  return Math.max(share, settings.changedMedianFactor * median(usual.slice(0, settings.medianEditions)));
}

export function median(values: readonly number[]): number {
  if (values.length === 0) return 0;
  const sorted = [...values].sort((one, other) => one - other);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}

/** If `whole` is 0, the share of any part above 0 is 1, so `minAffectedRows` alone decides the gate. */
function shareOf(part: number, whole: number): number {
  return whole === 0 ? Math.min(part, 1) : part / whole;
}

function tooFew(affected: number, settings: GateSettings): boolean {
  return affected < settings.minAffectedRows;
}

function percent(share: number): string {
  return `${(share * 100).toLocaleString('en-US', { maximumFractionDigits: 4 })} %`;
}
