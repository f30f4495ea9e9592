import type { GateSettings } from './gate-settings.ts';

// A gate is a condition that a publication must meet before it becomes an edition. Gates are pure functions of facts.
// If a gate fails, the publication goes into quarantine, and the head stays. An operator's approval overrules gates,
// but never a broken file.

export interface KindFacts {
  kind: string;
  previousRows: number;
  changed: number;
  deleted: number;
  /** Shares of this kind's rows (companies or others) that the last editions changed, one per edition, in any order. */
  usualChangedShares: readonly number[];
}

export interface ColumnFacts {
  column: string;
  /** Empty cells in the previous edition. Null when another parser read that edition or it lacked the column. */
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
  /** Members of all watch lists. A company counts once for each list that it is on. */
  members: number;
  /** Events per member in the last editions, in any order. Editions without members are left out. */
  usualPerMember: readonly number[];
}

export interface GateFacts {
  fechaDato: string;
  rows: number;
  rejected: number;
  /** Null for a first edition. */
  previous: PreviousFacts | null;
}

interface PreviousFacts {
  fechaDato: string;
  rows: number;
  companies: number;
  kinds: readonly KindFacts[];
  columns: readonly ColumnFacts[];
  /** Rows in which an empty cell of the file kept the previous edition's value. */
  keptCells: number;
  /** Null for a register that makes no events. */
  notices: NoticeFacts | null;
}

export interface GateResult {
  gate: string;
  value: number | string;
  limit: number | string;
  passed: boolean;
  text: string;
}

/**
 * Checks the gates, in the order in which an operator reads them. A first edition has only the gates of the header and
 * of the rejected lines, because the other gates need a previous edition.
 */
export function checkGates(facts: GateFacts, settings: GateSettings): GateResult[] {
  const { rows, rejected, previous } = facts;
  const lines = rows + rejected;
  const isNoRow = { affected: rejected, share: shareOf(rejected, lines), limit: settings.maxRejectedShare };
  const results = [headerGate, shareGate('rejected', isNoRow, `${rejected} of ${lines} lines are no row`, settings)];
  if (previous === null) return results;
  results.push(dateGate(facts.fechaDato, previous.fechaDato), rowsGate(rows, previous.rows, settings));
  for (const kind of previous.kinds) results.push(...kindGates(kind, settings));
  for (const column of previous.columns) results.push(...columnGates(column, rows, previous, settings));
  results.push(keptGate(previous.keptCells, rows, settings));
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

interface Measured {
  /** Number of rows, lines or cells that the share counts. */
  affected: number;
  share: number;
  limit: number;
}

/**
 * Checks a share that has an upper limit. The gate passes even above the limit if fewer than `minAffectedRows` rows,
 * lines or cells are affected.
 */
function shareGate(
  gate: string,
  { affected, share, limit }: Measured,
  found: string,
  settings: GateSettings,
  verb = '',
): GateResult {
  const passed = tooFew(affected, settings) || share <= limit;
  return { gate, value: share, limit, passed, text: `${found} (${verb}${percent(share)}, limit ${percent(limit)})` };
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

function kindGates(kind: KindFacts, settings: GateSettings): GateResult[] {
  const { kind: name, previousRows, changed, deleted } = kind;
  const changedLimit = usualLimit(settings.maxChangedShare, kind.usualChangedShares, settings);
  const change = { affected: changed, share: shareOf(changed, previousRows), limit: changedLimit };
  const loss = { affected: deleted, share: shareOf(deleted, previousRows), limit: settings.maxDeletedShare };
  const rows = `of ${previousRows} rows of kind ${name}`;
  return [
    shareGate(`changed.${name}`, change, `${changed} ${rows} changed`, settings),
    shareGate(`deleted.${name}`, loss, `${deleted} ${rows} disappeared`, settings),
  ];
}

function columnGates(facts: ColumnFacts, rows: number, previous: PreviousFacts, settings: GateSettings): GateResult[] {
  const { column, emptyBefore, emptyNow, changedCompanies: changed } = facts;
  const results: GateResult[] = [];
  if (changed !== null) {
    const limit = usualLimit(settings.maxColumnChangedShare, facts.usualChangedShares, settings);
    const change = { affected: changed, share: shareOf(changed, previous.companies), limit };
    const found = `${column} changed in ${changed} of ${previous.companies} companies`;
    results.push(shareGate(`column.${column}`, change, found, settings));
  }
  if (emptyBefore !== null) {
    const share = Math.abs(shareOf(emptyNow, rows) - shareOf(emptyBefore, previous.rows));
    const move = { affected: Math.abs(emptyNow - emptyBefore), share, limit: settings.maxEmptyShareMove };
    const found = `${column} is empty in ${emptyNow} of ${rows} rows, before in ${emptyBefore} of ${previous.rows}`;
    results.push(shareGate(`empty.${column}`, move, found, settings, 'moved by '));
  }
  return results;
}

/** Where a column keeps the old value for an empty cell (`keepsPrevious`), only this gate sees an emptied column. */
function keptGate(keptCells: number, rows: number, settings: GateSettings): GateResult {
  const kept = { affected: keptCells, share: shareOf(keptCells, rows), limit: settings.maxEmptyShareMove };
  return shareGate('kept', kept, `${keptCells} of ${rows} rows have an empty cell that never is empty`, settings);
}

/**
 * Compares the number of events per member of a list with that of the last editions. The total number would not do: it
 * grows with the watch lists, so a customer's new long list could stop the register. Where the median is small, as in
 * lists that change in batches, the limit is the share of companies in which a column may change. The gate passes if
 * none of the last editions had members.
 */
function noticesGate({ notices, members, usualPerMember }: NoticeFacts, settings: GateSettings): GateResult {
  const known = usualPerMember.slice(0, settings.medianEditions);
  const share = Math.max(settings.maxColumnChangedShare, settings.noticesMedianFactor * median(known));
  const limit = Math.max(settings.minAffectedRows, Math.ceil(share * members));
  const text = `it would make ${notices} notices over ${members} members of watch lists`;
  return {
    gate: 'notices',
    value: notices,
    limit: known.length === 0 ? 'unknown' : limit,
    passed: known.length === 0 || tooFew(notices, settings) || notices <= limit,
    text: known.length === 0 ? `${text}; no earlier edition says what is usual` : `${text} (limit ${limit})`,
  };
}

/**
 * The limit of a share of changes: `share`, or `changedMedianFactor` × the median of the last editions if that is
 * larger.
 */
function usualLimit(share: number, usual: readonly number[], settings: GateSettings): number {
  return Math.max(share, settings.changedMedianFactor * median(usual.slice(0, settings.medianEditions)));
}

export function median(values: readonly number[]): number {
  if (values.length === 0) return 0;
  const sorted = [...values].sort((one, other) => one - other);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}

/** If `whole` is 0, any part above 0 has the share 1, above the usual limits. So `minAffectedRows` decides. */
function shareOf(part: number, whole: number): number {
  return whole === 0 ? Math.min(part, 1) : part / whole;
}

function tooFew(affected: number, settings: GateSettings): boolean {
  return affected < settings.minAffectedRows;
}

function percent(share: number): string {
  return `${(share * 100).toLocaleString('en-US', { maximumFractionDigits: 4 })} %`;
}
