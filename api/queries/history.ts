import type { HistoryEntry } from '../../schemas/http/history.ts';
import { type RegisterName, registerNames, registers } from '../../schemas/registers.ts';
import type { Catalogue, FactsOf, PastEditions, ServedRegister } from '../catalogue.ts';
import { registerNotLoaded, storeUnavailable, throwUnavailable } from '../problems.ts';
import { editionsOf, makePresenceCheck } from './current-rows.ts';
import { entriesOf } from './history-entries.ts';
import type { Taxpayers } from './look-up.ts';
import { cellsByName, rowsByRegister, type Sources, sourcesOf } from './record.ts';
import type { ChangeKey, RegisterChanges, StoredChange } from './register-changes.ts';

/** `daily` is the edition of the daily register on which the answer is based. */
export type FoundHistory =
  | { isFound: false; daily: ServedRegister }
  | {
      isFound: true;
      daily: ServedRegister;
      entries: HistoryEntry[];
      next: HistoryPlace | null;
      /** The sources of all loaded registers. */
      sources: Sources;
    };

/**
 * Returns a RUC's changes in all registers, newest first, after the place `after` of the caller's last entry. A RUC
 * counts as found when any register has a change of it, even if the daily register never had the RUC.
 * @throws ApiProblem servicio_no_disponible, or padron_no_disponible until the daily register is first loaded
 */
export type FindHistory = (
  ruc: string,
  page: { after: HistoryPlace | null; maxEntries: number },
) => Promise<FoundHistory>;

export interface HistoryDependencies {
  catalogue: Catalogue;
  past: PastEditions;
  taxpayers: Taxpayers;
  changes: RegisterChanges;
}

export function makeFindHistory({ catalogue, past, taxpayers, changes }: HistoryDependencies): FindHistory {
  const presence = makePresenceCheck(taxpayers);
  return async (ruc, { after, maxEntries }) => {
    // Take the snapshot before the query. If it were taken later, the answer's date could be newer than its data.
    const before = await catalogue.snapshot();
    if (before.padron_reducido === undefined) throw registerNotLoaded();
    const keys = await changes.keys(ruc).catch(throwUnavailable);
    const written = keys.map(({ register, edition }) => [register, edition] as const);
    const editions = await editionsOf(catalogue, before, written);
    const daily = editions.padron_reducido!;
    if (keys.length === 0 && !(await wasHeld(ruc))) return { isFound: false, daily };
    const facts = await past.facts(keys.map(({ register, edition }) => ({ register, number: edition })));
    const read = (wanted: readonly ChangeKey[]) => changes.read(ruc, wanted).catch(throwUnavailable);
    const { entries, next } = await pageOf(ruc, inOrder(keys, facts), { after, maxEntries }, { read, past });
    return { isFound: true, daily, entries, next, sources: sourcesOf(registerNames, editions) };
  };

  /** Whether the daily register has or had the RUC. A RUC that never changed has a row but no history. */
  async function wasHeld(ruc: string): Promise<boolean> {
    const rows = await taxpayers.find(ruc).catch(throwUnavailable);
    presence.note(ruc, rows);
    if (rowsByRegister(rows).padron_reducido !== undefined) return true;
    await presence.require(['padron_reducido']).catch(throwUnavailable);
    return false;
  }
}

/** An entry's place: the day, register and edition of its change, and its index among that change's entries. */
export interface HistoryPlace {
  day: string;
  /** The register's `code` in schemas/registers.ts. */
  register: number;
  edition: number;
  entry: number;
}

export interface DatedChange extends ChangeKey {
  day: string;
  /** If the RUC returns to the register with this change: the change with which it left. Otherwise null. */
  left: ChangeKey | null;
}

/**
 * Sorts changes newest first: by the day of the data, then by register, then by edition. A later change does not change
 * the order of the changes before it, so a cursor skips no entry and repeats none.
 */
export function inOrder(keys: readonly ChangeKey[], facts: FactsOf): DatedChange[] {
  const oldestFirst = [...keys].sort((one, other) => one.edition - other.edition);
  const left = new Map<RegisterName, ChangeKey | null>();
  const dated = oldestFirst.map((key) => {
    const change = {
      ...key,
      day: facts(key.register, key.edition).fechaDato,
      left: key.operation === 'c' ? (left.get(key.register) ?? null) : null,
    };
    left.set(key.register, key.operation === 'd' ? key : null);
    return change;
  });
  return dated.sort((one, other) => compare(placeOf(one, 0), placeOf(other, 0)));
}

/** Rows may hold long texts, so the number of changes in one read is limited. */
const changesPerRead = 100;

/**
 * Returns at most `maxEntries` entries after the place `after`. `next` is the place of the last returned entry, or null
 * when no entry follows it.
 */
export async function pageOf(
  ruc: string,
  ordered: readonly DatedChange[],
  { after, maxEntries }: { after: HistoryPlace | null; maxEntries: number },
  { read, past }: { read(keys: readonly ChangeKey[]): Promise<readonly StoredChange[]>; past: PastEditions },
): Promise<{ entries: HistoryEntry[]; next: HistoryPlace | null }> {
  const isLeft = (place: HistoryPlace) => after === null || compare(place, after) > 0;
  const rest = ordered.filter((change) => isLeft(placeOf(change, Number.MAX_SAFE_INTEGER)));
  const found: { place: HistoryPlace; entry: HistoryEntry }[] = [];
  for (let at = 0; at < rest.length && found.length <= maxEntries; at += changesPerRead) {
    const changes = rest.slice(at, at + changesPerRead);
    for (const { change, entries } of await readEntries(ruc, changes, read, past))
      entries.forEach((entry, index) => {
        const place = placeOf(change, index);
        if (isLeft(place)) found.push({ place, entry });
      });
  }
  const page = found.slice(0, maxEntries);
  const next = found.length > maxEntries ? page.at(-1)!.place : null;
  return { entries: page.map(({ entry }) => entry), next };
}

async function readEntries(
  ruc: string,
  changes: readonly DatedChange[],
  read: (keys: readonly ChangeKey[]) => Promise<readonly StoredChange[]>,
  past: PastEditions,
): Promise<{ change: DatedChange; entries: HistoryEntry[] }[]> {
  const stored = await read(changes.flatMap((change) => (change.left === null ? [change] : [change, change.left])));
  const found = new Map(stored.map((change) => [nameOf(change), change]));
  const numbers = stored.flatMap(({ register, edition, corrects }) =>
    (corrects === null ? [edition] : [edition, corrects]).map((number) => ({ register, number })),
  );
  const facts = await past.facts(numbers);
  const cells = (change: StoredChange, side: 'before' | 'after') => {
    const row = change[side];
    const { register, edition } = change;
    return row === null ? null : cellsByName(register, row, facts(register, edition).columns);
  };
  return changes.map((change) => {
    const row = found.get(nameOf(change));
    const last = change.left === null ? undefined : found.get(nameOf(change.left));
    // The change vanished between two queries, because a rebuild is exchanging the tables.
    if (row === undefined) throw storeUnavailable(new Error(`a change of ${change.register} is no longer there`));
    const fields = entriesOf(ruc, {
      ...change,
      before: cells(row, 'before'),
      after: cells(row, 'after'),
      lastKnown: last === undefined ? null : cells(last, 'before'),
    });
    const { register, corrects } = row;
    const correccion =
      corrects === null ? null : { edicion: corrects, fecha_dato: facts(register, corrects).fechaDato };
    const entries = fields.map((field) => ({ fecha_dato: change.day, registro: register, ...field, correccion }));
    return { change, entries };
  });
}

function nameOf({ register, edition }: ChangeKey): string {
  return `${register}:${edition}`;
}

function placeOf({ day, register, edition }: DatedChange, entry: number): HistoryPlace {
  return { day, register: registers[register].code, edition, entry };
}

/** Negative when `one` comes first. */
function compare(one: HistoryPlace, other: HistoryPlace): number {
  if (one.day !== other.day) return one.day > other.day ? -1 : 1;
  return one.register - other.register || other.edition - one.edition || one.entry - other.entry;
}
