import type { ClickHouseClient } from '../../pipelines/runtime/clickhouse.ts';
import { type RegisterName, registerOfCode, registers } from '../../schemas/registers.ts';
import { type LookupLimits, makeBatchGate, makeSharedQuery, queryBytes } from './look-up.ts';
import { recordRegisters } from './record.ts';

/** A RUC's row before an edition changed it, with cells in the order of that edition's columns. */
export interface EarlierRow {
  register: RegisterName;
  edition: number;
  /** Null when the register did not have the RUC. */
  before: readonly string[] | null;
}

export interface ChangeKey {
  register: RegisterName;
  edition: number;
  operation: 'c' | 'u' | 'd';
}

export interface StoredChange extends ChangeKey, EarlierRow {
  /** Null when the register no longer has the RUC. */
  after: readonly string[] | null;
  /** The edition that this change's edition undoes, or null. */
  corrects: number | null;
}

/** Reads a RUC's changes in ClickHouse, from every edition. A row that was written again unchanged is not a change. */
export interface RegisterChanges {
  /**
   * Returns each row that a change replaced, in the registers that make a taxpayer's record (`recordRegisters`). Calls
   * at the same time share one query.
   */
  earlierRows(ruc: string): Promise<readonly EarlierRow[]>;
  /** Returns the changes in all registers, in no order and without their rows. */
  keys(ruc: string): Promise<readonly ChangeKey[]>;
  /** Returns the changes with these keys, with their rows. */
  read(ruc: string, keys: readonly ChangeKey[]): Promise<readonly StoredChange[]>;
}

/** Largest number of changes that are read for one RUC, about one a day in every register for a hundred years. */
const maxChanges = 250_000;

/**
 * Only one query for look-ups as of a day runs at a time. Look-ups that come meanwhile wait for its end and share the
 * next query. Sharing pays, because each query costs as much as reading a dozen RUCs. Few look-ups have to wait,
 * because only a row that changed since the day needs history.
 */
export const pastGate = { waitMs: 20, inFlight: 1 };

const codesOfRecord = recordRegisters.map((name) => registers[name].code).join(',');

// The text of the queries below contains only RUCs, which were checked to be digits, and our own numbers of registers
// and editions. So the text is safe. After a repeated insert ClickHouse stores a change twice until it merges the
// copies. The copies are equal, so a query may read either.
export function makeRegisterChanges(
  clickhouse: ClickHouseClient,
  limits: Pick<LookupLimits, 'maxKeys'>,
): RegisterChanges {
  return {
    earlierRows: makeSharedQuery<readonly EarlierRow[]>(
      'look up earlier rows',
      (rucs) => readEarlierRows(clickhouse, rucs),
      { gate: makeBatchGate(pastGate), maxKeys: limits.maxKeys },
    ),
    async keys(ruc) {
      const rows = await readLines<[number, number, ChangeKey['operation']]>(
        clickhouse,
        `SELECT DISTINCT register, toUInt32(edition), op FROM register_change WHERE ruc = ${ruc} LIMIT ${maxChanges}`,
      );
      return rows.map(([code, edition, operation]) => ({ register: registerOfCode.get(code)!, edition, operation }));
    },
    async read(ruc, keys) {
      const pairs = keys.map(({ register, edition }) => `(${registers[register].code},${edition})`).join(',');
      if (pairs === '') return [];
      type Line = [number, number, ChangeKey['operation'], string | null, string | null, number | null];
      const rows = await readLines<Line>(
        clickhouse,
        `SELECT register, toUInt32(edition), op, before, after, toUInt32OrNull(toString(corrects))
         FROM register_change WHERE ruc = ${ruc} AND (register, edition) IN (${pairs}) LIMIT 1 BY register, edition`,
      );
      return rows.map(([code, edition, operation, before, after, corrects]) => ({
        register: registerOfCode.get(code)!,
        edition,
        operation,
        before: cellsOf(before),
        after: cellsOf(after),
        corrects,
      }));
    },
  };
}

async function readEarlierRows(
  clickhouse: ClickHouseClient,
  rucs: readonly string[],
): Promise<(readonly EarlierRow[])[]> {
  const rows = await readLines<[string, number, number, string | null]>(
    clickhouse,
    `SELECT toString(ruc), register, toUInt32(edition), before FROM register_change
     WHERE ruc IN (${rucs.join(',')}) AND register IN (${codesOfRecord})`,
  );
  const found = new Map<string, EarlierRow[]>(rucs.map((ruc) => [ruc, []]));
  for (const [ruc, code, edition, before] of rows)
    found.get(ruc)!.push({ register: registerOfCode.get(code)!, edition, before: cellsOf(before) });
  return rucs.map((ruc) => found.get(ruc)!);
}

async function readLines<Line>(clickhouse: ClickHouseClient, query: string): Promise<Line[]> {
  const text = (await queryBytes(clickhouse, `${query} FORMAT JSONCompactEachRow`)).toString('utf8');
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Line);
}

function cellsOf(row: string | null): readonly string[] | null {
  return row === null ? null : (JSON.parse(row) as string[]);
}
