import { type RegisterName, registers } from '../../schemas/registers.ts';
import type { Catalogue, ServedRegisters } from '../catalogue.ts';
import { makeLastKnown } from '../last-known.ts';
import { registerNotLoaded, throwUnavailable } from '../problems.ts';
import type { StoredRow, Taxpayers } from './look-up.ts';
import {
  absentFrom,
  type CellsByRegister,
  type FoundRecord,
  type RecordDependencies,
  recordFound,
  recordRegisters,
  rowsByRegister,
} from './record.ts';

/** A RUC's current cells by register, and the editions they come from. `editions` always has the daily register. */
export interface CurrentRows {
  editions: ServedRegisters;
  cells: CellsByRegister;
}

interface CurrentRowsDependencies {
  catalogue: Catalogue;
  taxpayers: Taxpayers;
}

/**
 * Makes a function that reads a RUC's rows from all registers in one look-up and returns those of `names`.
 * @throws ApiProblem servicio_no_disponible, or padron_no_disponible until the daily register is first loaded
 */
export function makeReadCurrentRows(
  { catalogue, taxpayers }: CurrentRowsDependencies,
  names: readonly RegisterName[],
): (ruc: string) => Promise<CurrentRows> {
  const presence = makePresenceCheck(taxpayers);
  return async (ruc) => {
    // Take the snapshot before the query, never after it. Otherwise an answer could show a date that is newer than its
    // data (see api/catalogue.ts).
    const before = await catalogue.snapshot();
    if (before.padron_reducido === undefined) throw registerNotLoaded();
    const stored = await taxpayers.find(ruc).catch(throwUnavailable);
    presence.note(ruc, stored);
    const rows = rowsByRegister(stored);
    const written: [RegisterName, number][] = [];
    const cells: CellsByRegister = {};
    for (const name of names) {
      const row = rows[name];
      if (row === undefined) continue;
      written.push([name, row.version]);
      if (!row.isDeleted) cells[name] = row.cells;
    }
    const editions = await editionsOf(catalogue, before, written);
    await presence.require(absentFrom(names, editions, rows, cells)).catch(throwUnavailable);
    return { editions, cells };
  };
}

/**
 * Returns the editions to show. `before` has the editions that were served before the rows were read. If a row that was
 * read is already of a newer edition (`written`), that edition is shown for its register.
 * @param written the register and the number of the edition of each row or change of the RUC
 */
export async function editionsOf(
  catalogue: Catalogue,
  before: ServedRegisters,
  written: readonly (readonly [RegisterName, number])[],
): Promise<ServedRegisters> {
  let editions = before;
  for (const [name, number] of written) {
    const served = editions[name];
    if (served === undefined || number <= served.edition.number) continue;
    editions = { ...editions, [name]: await catalogue.edition(name, number) };
  }
  return editions;
}

/**
 * Finds a taxpayer's record in all registers. Only the daily register decides whether the taxpayer exists. The other
 * registers only add fields to the record.
 * @throws ApiProblem servicio_no_disponible, or padron_no_disponible until the daily register is first loaded
 */
export type FindRecord = (ruc: string) => Promise<FoundRecord>;

export type FindRecordDependencies = RecordDependencies & CurrentRowsDependencies;

export function makeFindRecord(dependencies: FindRecordDependencies): FindRecord {
  const read = makeReadCurrentRows(dependencies, recordRegisters);
  return async (ruc) => {
    const { editions, cells } = await read(ruc);
    return recordFound(ruc, editions, cells, dependencies);
  };
}

/**
 * Checks that the store holds rows of a register. Check before an answer says that a RUC is not in the register.
 * Otherwise a store that lost its rows would deny that a RUC exists or that anybody is on a list.
 */
export interface PresenceCheck {
  /** Remembers what a look-up of this RUC found. */
  note(ruc: string, rows: readonly StoredRow[]): void;
  /** Rejects when the store does not answer, or when it holds no row of one of these registers. */
  require(names: readonly RegisterName[]): Promise<void>;
}

/** A passed check counts for 5 seconds. api/last-known.ts explains each of these limits. */
const limits = { freshMs: 5_000, servesMs: 5_000, loadTimeoutMs: 2_000, retryAfterMs: 0, maxEntries: 10 };

/**
 * Makes a check that usually costs one look-up: it looks up the RUC that was last seen in the register. Rows are marked
 * as deleted and never removed, so a store that holds the register still has this RUC. Asking for any row of the
 * register would take a quarter of a second at full size, because the table is ordered by RUC.
 */
export function makePresenceCheck(taxpayers: Taxpayers, now?: () => number): PresenceCheck {
  const lastSeen = new Map<number, string>();
  // Only a passed check is remembered. After a failed check, the next request checks again.
  const presence = makeLastKnown(
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
      if (names.length > 0) await Promise.all(names.map((name) => presence.get(name)));
    },
  };
}
