import { setTimeout as sleep } from 'node:timers/promises';
import { padronReducido } from '../../schemas/registers.ts';
import type { EditionName, FactsOf, PastEditions, ServedRegisters } from '../catalogue.ts';
import { ApiProblem, registerNotLoaded, storeUnavailable } from '../problems.ts';
import { makeHeldRegisters } from './current-rows.ts';
import type { StoredRow, Taxpayers } from './look-up.ts';
import {
  absentFrom,
  type CellsByRegister,
  cellsByName,
  type FoundRecord,
  type RecordParts,
  type RecordRegister,
  type RowsByRegister,
  recordFound,
  recordRegisters,
  rowsByRegister,
} from './record.ts';
import type { EarlierRow, RegisterChanges } from './register-changes.ts';

/**
 * A taxpayer's record as of a day (YYYY-MM-DD, not in the future): of each register the highest-numbered complete edition dated
 * that day or before; a register that had none yet says nothing.
 * @throws ApiProblem fecha_sin_datos before the daily register's first edition, padron_no_disponible, servicio_no_disponible
 */
export type FindRecordOnDay = (ruc: string, day: string) => Promise<FoundRecord>;

export interface RecordOnDayParts extends RecordParts {
  past: PastEditions;
  taxpayers: Taxpayers;
  changes: RegisterChanges;
}

/** History is written before state, but a cluster's node may hear of it later, and a rebuild exchanges the two one by one. */
const retryAfterMs = 100;

export function makeFindRecordOnDay(parts: RecordOnDayParts): FindRecordOnDay {
  const { past, taxpayers } = parts;
  const held = makeHeldRegisters(taxpayers);
  return async (ruc, day) => {
    const editions = await past.on(day);
    if (editions.padron_reducido === undefined) throw noData(await past.firstDay('padron_reducido'));
    const stored = await taxpayers.find(ruc).catch(unavailable);
    held.note(ruc, stored);
    const rows = rowsByRegister(stored);
    const cells = await cellsOn(ruc, editions, rows, parts);
    await held.require(absentFrom(recordRegisters, editions, rows, cells)).catch(unavailable);
    return recordFound(ruc, editions, cells, parts);
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
  { past, changes }: RecordOnDayParts,
): Promise<CellsByRegister> {
  const wanted = recordRegisters
    .filter((name) => editions[name] !== undefined && rows[name] !== undefined)
    .map((name) => ({ register: name, row: rows[name]!, edition: editions[name]!.edition.number }));
  const areCurrent = wanted.every(({ row, edition }) => row.version <= edition);
  // Never the history first: a state that is read after it may know of a change that was not there yet.
  let earlier = areCurrent ? [] : await changes.earlierRows(ruc).catch(unavailable);
  for (let attempt = 1; ; attempt += 1) {
    const facts = await past.facts(namedEditions(wanted, earlier));
    const written = wanted.map((one) => ({ ...one, found: rowOnDay(one, earlier, facts) }));
    const lost = written.filter(({ found }) => found === 'unknown').map(({ register }) => register);
    if (lost.length === 0) return Object.fromEntries(written.flatMap((one) => todaysCells(one, facts)));
    if (attempt === 2)
      throw storeUnavailable(new Error(`the history of ${lost.join()} lacks a change that its state has`));
    await sleep(retryAfterMs);
    earlier = await changes.earlierRows(ruc).catch(unavailable);
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

/** All editions that the rows may turn out to be of. */
function namedEditions(wanted: readonly WantedRow[], earlier: readonly EarlierRow[]): EditionName[] {
  const own = wanted.flatMap(({ register, row, edition }) =>
    [edition, row.version].map((number) => ({ register, number })),
  );
  return [...own, ...earlier.map(({ register, edition }) => ({ register, number: edition }))];
}

function unavailable(error: unknown): never {
  throw storeUnavailable(error);
}

/** A register's row of a RUC, wanted as it stood in an edition. */
interface WantedRow {
  register: RecordRegister;
  /** As it stands now. */
  row: StoredRow;
  edition: number;
}

/** `cells` as `edition` wrote or found them; null: the register did not have the RUC. */
type RowOnDay = { edition: number; cells: readonly string[] | null } | 'unknown';

/**
 * The current row where no later edition wrote it; else what the first later change found. A row that only a re-baseline wrote
 * later was said again and not changed: it stands as today's parser reads it, which is also how a change after the re-baseline
 * tells it. So a RUC that the old parser missed is there on the days before as well: that it was missing was never the register's word.
 * `unknown`: a later change wrote the row and is not in the history that was read.
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
