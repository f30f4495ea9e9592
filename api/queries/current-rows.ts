import { type RegisterName, registers } from '../../schemas/registers.ts';
import type { Catalogue, ServedRegisters } from '../catalogue.ts';
import { makeLastKnown } from '../last-known.ts';
import { registerNotLoaded, storeUnavailable } from '../problems.ts';
import type { StoredRow, Taxpayers } from './look-up.ts';
import {
  absentFrom,
  type CellsByRegister,
  type FoundRecord,
  type RecordParts,
  type RowsByRegister,
  recordFound,
  recordRegisters,
  rowsByRegister,
} from './record.ts';

/** What registers hold of a RUC now, and the editions that say so; the daily register is among them. */
export interface CurrentRows {
  editions: ServedRegisters;
  cells: CellsByRegister;
}

interface CurrentRowsParts {
  catalogue: Catalogue;
  taxpayers: Taxpayers;
}

/**
 * Reads the RUC's rows of all registers at once and answers for the named ones.
 * @throws ApiProblem padron_no_disponible while the daily register was never loaded, servicio_no_disponible
 */
export function makeReadCurrentRows(
  { catalogue, taxpayers }: CurrentRowsParts,
  names: readonly RegisterName[],
): (ruc: string) => Promise<CurrentRows> {
  const held = makeHeldRegisters(taxpayers);
  return async (ruc) => {
    // Before the query and never after: see api/catalogue.ts.
    const before = await catalogue.snapshot();
    if (before.padron_reducido === undefined) throw registerNotLoaded();
    const stored = await taxpayers.find(ruc).catch(unavailable);
    held.note(ruc, stored);
    const rows = rowsByRegister(stored);
    const editions = await editionsOf(catalogue, before, rows, names);
    const cells: CellsByRegister = {};
    for (const name of names) {
      const row = rows[name];
      if (row !== undefined && !row.isDeleted) cells[name] = row.cells;
    }
    await held.require(absentFrom(names, editions, rows, cells)).catch(unavailable);
    return { editions, cells };
  };
}

/** The snapshot, with the later edition of each register whose row is from one that is being written. */
async function editionsOf(
  catalogue: Catalogue,
  before: ServedRegisters,
  rows: RowsByRegister,
  names: readonly RegisterName[],
): Promise<ServedRegisters> {
  let editions = before;
  for (const name of names) {
    const served = before[name];
    const row = rows[name];
    if (served === undefined || row === undefined || row.version <= served.edition.number) continue;
    editions = { ...editions, [name]: await catalogue.servedFor(served, row.version) };
  }
  return editions;
}

function unavailable(error: unknown): never {
  throw storeUnavailable(error);
}

/**
 * A taxpayer's record from all its registers. Whether there is one is the daily register's word alone; the others add to it.
 * @throws ApiProblem padron_no_disponible while the daily register was never loaded, servicio_no_disponible
 */
export type FindRecord = (ruc: string) => Promise<FoundRecord>;

export type FindRecordParts = RecordParts & CurrentRowsParts;

export function makeFindRecord(parts: FindRecordParts): FindRecord {
  const read = makeReadCurrentRows(parts, recordRegisters);
  return async (ruc) => {
    const { editions, cells } = await read(ruc);
    return recordFound(ruc, editions, cells, parts);
  };
}

/**
 * "Not in the register" is a claim that only a store which holds the register can make: one that lost the rows of a register
 * must not say that no RUC exists, nor that nobody is on a list.
 */
export interface HeldRegisters {
  /** What a look-up of this RUC found. */
  note(ruc: string, rows: readonly StoredRow[]): void;
  /** Rejects when the store does not answer or holds no row of one of them. */
  require(names: readonly RegisterName[]): Promise<void>;
}

/** How long a register that was seen counts as held. */
const limits = { freshMs: 5_000, servesMs: 5_000, loadTimeoutMs: 2_000, retryAfterMs: 0, maxEntries: 10 };

/**
 * Asking for any row of a register takes the engine a quarter of a second at full size, since the table is ordered by RUC. So
 * the last key that was found in it, by a look-up or by such a scan, is asked for first, which costs as much as one more
 * look-up; rows are marked as deleted and never removed, so a register that is held holds that one.
 */
export function makeHeldRegisters(taxpayers: Taxpayers, now?: () => number): HeldRegisters {
  const lastSeen = new Map<number, string>();
  // Only a yes is kept: a no is an error, asked again by the next request.
  const held = makeLastKnown(
    async (name: RegisterName) => {
      const { code } = registers[name];
      const ruc = lastSeen.get(code);
      const rows = ruc === undefined ? [] : await taxpayers.find(ruc);
      if (rows.some(({ register }) => register === code)) return;
      const any = await taxpayers.anyKeyOf(code);
      if (any !== null) {
        lastSeen.set(code, any);
        return;
      }
      throw new Error(`ClickHouse holds no row of ${name}, which the catalogue calls materialised`);
    },
    limits,
    now,
  );
  return {
    note(ruc, rows) {
      for (const { register } of rows) lastSeen.set(register, ruc);
    },
    async require(names) {
      if (names.length > 0) await Promise.all(names.map((name) => held.get(name)));
    },
  };
}
