import type { ClickHouseClient } from '../../pipelines/runtime/clickhouse.ts';
import type { Tracing } from '../../pipelines/runtime/tracing/tracing.ts';
import { type RegisterName, registers } from '../../schemas/registers.ts';
import { type LookupLimits, makeBatchGate, makeSharedQuery, queryBytes } from './look-up.ts';
import { recordRegisters } from './record.ts';

/** What stood before an edition changed a RUC's row; cells in the order of that edition's columns. */
export interface EarlierRow {
  register: RegisterName;
  edition: number;
  /** null: the register did not have the RUC. */
  before: readonly string[] | null;
}

export interface ChangeKey {
  register: RegisterName;
  edition: number;
  operation: 'c' | 'u' | 'd';
}

export interface StoredChange extends ChangeKey, EarlierRow {
  /** null: the register no longer has the RUC. */
  after: readonly string[] | null;
  /** The edition that this one undoes. */
  corrects: number | null;
}

/** The changes of a RUC that ClickHouse keeps: every edition's, but for rows that were written without a change. */
export interface RegisterChanges {
  /** Of the registers of a record. Calls at the same time share one query. */
  earlierRows(ruc: string): Promise<readonly EarlierRow[]>;
  /** Of all registers, in no order, without their rows. */
  keys(ruc: string): Promise<readonly ChangeKey[]>;
  /** The changes of these editions and of no other. */
  read(ruc: string, keys: readonly ChangeKey[]): Promise<readonly StoredChange[]>;
}

/** Of one RUC: nobody changes every day for a hundred years in every register. */
const maxChanges = 250_000;

/**
 * Of look-ups as of a day only those need history whose row has changed since, so fewer come together: they wait for the query
 * before them, or the queries would be many and small, and a query costs as much as a dozen RUCs.
 */
const pastGate = { waitMs: 20, inFlight: 1 };

const codesOfRecord = recordRegisters.map((name) => registers[name].code).join(',');
const nameOf = new Map(Object.values(registers).map(({ code, name }) => [code, name]));

// RUCs are checked digits and nothing else before they come here, registers and editions are numbers of ours. A repeated
// insert leaves a change twice until it is merged away: both say the same, so readers take either.
export function makeRegisterChanges(
  clickhouse: ClickHouseClient,
  limits: Pick<LookupLimits, 'maxKeys'>,
  tracing?: Tracing,
): RegisterChanges {
  return {
    earlierRows: makeSharedQuery<readonly EarlierRow[]>(
      'look up earlier rows',
      (rucs) => readEarlierRows(clickhouse, rucs),
      { gate: makeBatchGate(pastGate), maxKeys: limits.maxKeys },
      tracing,
    ),
    async keys(ruc) {
      const rows = await readLines<[number, number, ChangeKey['operation']]>(
        clickhouse,
        `SELECT DISTINCT register, toUInt32(edition), op FROM register_change WHERE ruc = ${ruc} LIMIT ${maxChanges}`,
      );
      return rows.map(([code, edition, operation]) => ({ register: nameOf.get(code)!, edition, operation }));
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
        register: nameOf.get(code)!,
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
    found.get(ruc)!.push({ register: nameOf.get(code)!, edition, before: cellsOf(before) });
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
