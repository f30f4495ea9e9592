import { setTimeout as sleep } from 'node:timers/promises';
import { padronReducido } from '../../schemas/registers.ts';
import type { EditionName, FactsOf, PastEditions, ServedRegisters } from '../catalogue.ts';
import { ApiProblem, registerNotLoaded, storeUnavailable, throwUnavailable } from '../problems.ts';
import { makePresenceCheck } from './current-rows.ts';
import type { StoredRow, Taxpayers } from './look-up.ts';
import {
  absentFrom,
  type CellsByRegister,
  cellsByName,
  type FoundRecord,
  type RecordDependencies,
  type RecordRegister,
  type RowsByRegister,
  recordFound,
  recordRegisters,
  rowsByRegister,
} from './record.ts';
import type { EarlierRow, RegisterChanges } from './register-changes.ts';

/**
 * Finds a taxpayer's record as of a day (YYYY-MM-DD, not in the future). Each register is read in its highest-numbered
 * complete edition that is dated on that day or before. A register without such an edition adds nothing.
 * @throws ApiProblem fecha_sin_datos when the day is before the daily register's first edition; padron_no_disponible
 *   until the daily register is first loaded; servicio_no_disponible when a store does not answer
 */
export type FindRecordOnDay = (ruc: string, day: string) => Promise<FoundRecord>;

export interface RecordOnDayDependencies extends RecordDependencies {
  past: PastEditions;
  taxpayers: Taxpayers;
  changes: RegisterChanges;
}

/**
 * Milliseconds before a second read of the history (table `register_change`), when it lacks a change that the current
 * rows (table `taxpayer`) already have. The history is written first. But a replica may receive it later, and a rebuild
 * exchanges the two tables one after the other.
 */
const retryAfterMs = 100;

export function makeFindRecordOnDay(dependencies: RecordOnDayDependencies): FindRecordOnDay {
  const { past, taxpayers } = dependencies;
  const presence = makePresenceCheck(taxpayers);
  return async (ruc, day) => {
    const editions = await past.on(day);
    if (editions.padron_reducido === undefined) throw noData(await past.firstDay('padron_reducido'));
    const stored = await taxpayers.find(ruc).catch(throwUnavailable);
    presence.note(ruc, stored);
    const rows = rowsByRegister(stored);
    const cells = await cellsOn(ruc, editions, rows, dependencies);
    await presence.require(absentFrom(recordRegisters, editions, rows, cells)).catch(throwUnavailable);
    return recordFound(ruc, editions, cells, dependencies);
  };
}

function noData(firstDay: string | null): ApiProblem {
  if (firstDay === null) return registerNotLoaded();
  const detail = `Los datos de este servicio empiezan el ${firstDay}.`;
  return new ApiProblem('fecha_sin_datos', detail, {
    meta: { origen: padronReducido.title, primera_fecha: firstDay },
  });
}

async function cellsOn(
  ruc: string,
  editions: ServedRegisters,
  rows: RowsByRegister,
  { past, changes }: RecordOnDayDependencies,
): Promise<CellsByRegister> {
  const wanted = recordRegisters
    .filter((name) => editions[name] !== undefined && rows[name] !== undefined)
    .map((name) => ({ register: name, row: rows[name]!, edition: editions[name]!.edition.number }));
  const areCurrent = wanted.every(({ row, edition }) => row.version <= edition);
  // The history is read after the current rows (`rows`). Otherwise a change that arrives between the two reads would be
  // in the rows and not in the history.
  let earlier = areCurrent ? [] : await changes.earlierRows(ruc).catch(throwUnavailable);
  for (let attempt = 1; ; attempt += 1) {
    const facts = await past.facts(namedEditions(wanted, earlier));
    const written = wanted.map((one) => ({ ...one, found: rowOnDay(one, earlier, facts) }));
    const lost = written.filter(({ found }) => found === 'unknown').map(({ register }) => register);
    if (lost.length === 0) return Object.fromEntries(written.flatMap((one) => todaysCells(one, facts)));
    if (attempt === 2)
      throw storeUnavailable(new Error(`the history of ${lost.join()} lacks a change that its state has`));
    await sleep(retryAfterMs);
    earlier = await changes.earlierRows(ruc).catch(throwUnavailable);
  }
}

function todaysCells(
  { register, edition, found }: WantedRow & { found: RowOnDay },
  facts: FactsOf,
): [RecordRegister, readonly string[]][] {
  if (found === 'unknown' || found.cells === null) return [];
  const written = facts(register, found.edition).columns;
  return [[register, cellsByName(register, found.cells, written, facts(register, edition).columns)]];
}

/** Returns the wanted editions, the editions that wrote the current rows, and the editions of the rows in `earlier`. */
function namedEditions(wanted: readonly WantedRow[], earlier: readonly EarlierRow[]): EditionName[] {
  const own = wanted.flatMap(({ register, row, edition }) =>
    [edition, row.version].map((number) => ({ register, number })),
  );
  return [...own, ...earlier.map(({ register, edition }) => ({ register, number: edition }))];
}

/** A RUC's current row in a register, and the edition for which the row is wanted. */
interface WantedRow {
  register: RecordRegister;
  row: StoredRow;
  edition: number;
}

/**
 * `cells` are the row in the columns of `edition`, or null when the register did not have the RUC. `edition` is the
 * edition that wrote the row. A past row is read from the change that replaced it, so there it is that change's
 * edition.
 */
type RowOnDay = { edition: number; cells: readonly string[] | null } | 'unknown';

/**
 * Returns a RUC's row as it was in `edition`:
 * - The current row, when no later edition wrote the row.
 * - The current row, when only a re-baseline (`parserVersion` in schemas/registers.ts) wrote the row later. A
 *   re-baseline writes every row again as today's parser reads it, which is no change, even for a RUC that the old
 *   parser missed.
 * - Otherwise the row that the first later change replaced, or `unknown` if `earlier` lacks that change.
 */
export function rowOnDay(
  { register, row, edition }: WantedRow,
  earlier: readonly EarlierRow[],
  facts: FactsOf,
): RowOnDay {
  const current = { edition: row.version, cells: row.isDeleted ? null : row.cells };
  if (row.version <= edition) return current;
  let first: EarlierRow | undefined;
  for (const change of earlier) {
    if (change.register !== register || change.edition <= edition) continue;
    if (first === undefined || change.edition < first.edition) first = change;
  }
  if (first !== undefined) return { edition: first.edition, cells: first.before };
  return facts(register, row.version).isFull ? current : 'unknown';
}
