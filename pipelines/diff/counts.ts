import { type IdKind, idKindOf, rucPrefixes } from '../../schemas/ruc.ts';
import type { EditionFacts } from '../changes/change-file.ts';
import type { ContainerFile } from '../changes/container-writer.ts';
import { type Operation, operations } from '../changes/record-bytes.ts';
import type { Listing, RejectList } from './listings.ts';
import type { CompareResult, KindCounts } from './types.ts';

const otherIdKinds: readonly IdKind[] = ['codigo_extranjero', 'documento', 'ruc_no_valido'];
/** Kinds of keys: a RUC's prefix, or the kind of another id. They are sorted, so that equal states give equal files. */
const keyKinds: readonly string[] = [...rucPrefixes, ...otherIdKinds];

/** Returns the index of the key's kind in `keyKinds`, for `Tally.count`. */
export function keyKindOf(key: string): number {
  const idKind = idKindOf(key);
  return keyKinds.indexOf(idKind === 'ruc' ? key.slice(0, 2) : idKind);
}

export function rowsByKindOf(keys: Iterable<string>): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const key of keys) {
    const kind = keyKinds[keyKindOf(key)]!;
    counts[kind] = (counts[kind] ?? 0) + 1;
  }
  return counts;
}

/**
 * Counts the rows of one edition by kind of key. The gates (workflows/publication/gates.ts) judge companies apart from
 * natural persons. Typed arrays keep counting fast for the millions of rows of a first edition.
 */
export class Tally {
  readonly #columns: readonly string[];
  /**
   * Number of rows of the head before this edition, by kind. The edition's changes are added to it. Null for a full
   * edition (`EditionFacts.isFull`): such an edition writes every row, so its own rows are counted alone.
   */
  readonly #baseRows: Record<string, number> | null;
  /** One count for each pair of kind and operation. */
  readonly #counts = new Float64Array(keyKinds.length * operations.length);
  readonly #changed: { company: Float64Array; other: Float64Array };
  kept = 0;
  keptCells = 0;

  constructor(columns: readonly string[], baseRows: Record<string, number> | null) {
    this.#columns = columns;
    this.#baseRows = baseRows;
    this.#changed = { company: new Float64Array(columns.length), other: new Float64Array(columns.length) };
  }

  /**
   * Counts one row. `kind` is the index of its key's kind in `keyKinds`. Bit c of `changedColumns` is set if an update
   * changed column c.
   */
  count(kind: number, op: Operation, changedColumns: number): void {
    this.#counts[kind * operations.length + operations.indexOf(op)]! += 1;
    if (changedColumns === 0) return;
    const changed = this.#changed[isCompanyKind(keyKinds[kind]!) ? 'company' : 'other'];
    for (let column = 0; column < changed.length; column += 1) changed[column]! += (changedColumns >>> column) & 1;
  }

  /** Number of rows of the new state by kind. */
  get rowsByKind(): Record<string, number> {
    const kinds = keyKinds.map((kind) => [kind, this.#rows(kind)] as const);
    return Object.fromEntries(kinds.filter(([, rows]) => rows > 0));
  }

  get changedByKind(): { company: KindCounts; other: KindCounts } {
    return { company: this.#countsOf('company'), other: this.#countsOf('other') };
  }

  #countsOf(group: 'company' | 'other'): KindCounts {
    const kinds = keyKinds.filter((kind) => isCompanyKind(kind) === (group === 'company'));
    const sum = (of: (kind: string) => number) => kinds.reduce((total, kind) => total + of(kind), 0);
    return {
      rows: sum((kind) => this.#rows(kind)),
      baseline: sum((kind) => this.#count(kind, 'r')),
      inserted: sum((kind) => this.#count(kind, 'c')),
      updated: sum((kind) => this.#count(kind, 'u')),
      deleted: sum((kind) => this.#count(kind, 'd')),
      changedByColumn: Object.fromEntries(this.#columns.map((name, at) => [name, this.#changed[group][at]!])),
    };
  }

  #rows(kind: string): number {
    const added = this.#count(kind, 'r') + this.#count(kind, 'c');
    if (this.#baseRows === null) return added + this.#count(kind, 'u');
    return (this.#baseRows[kind] ?? 0) + added - this.#count(kind, 'd');
  }

  #count(kind: string, op: Operation): number {
    return this.#counts[keyKinds.indexOf(kind) * operations.length + operations.indexOf(op)]!;
  }
}

function isCompanyKind(kind: string): boolean {
  return kind === '20';
}

type OfPublication = Pick<
  CompareResult,
  'rejectFile' | 'lines' | 'rows' | 'rejected' | 'rejectedByReason' | 'repaired' | 'duplicates' | 'emptyNames'
>;

/** Returns the part of a result that describes the publication. */
export function readCounts(
  read: Pick<CompareResult, 'lines' | 'rows' | 'emptyNames'>,
  { rejected, duplicates, repaired, counts: rejectedByReason }: RejectList,
  rejectFile: Listing | null,
): OfPublication {
  return { ...read, rejectFile, rejected, rejectedByReason, repaired, duplicates };
}

/** A correction reads no publication, so this part of its result is empty. */
export const nothingRead: OfPublication = {
  rejectFile: null,
  lines: 0,
  rows: 0,
  rejected: 0,
  rejectedByReason: {},
  repaired: 0,
  duplicates: 0,
  emptyNames: 0,
};

/** The files of an edition, and facts about its state. */
export interface WrittenEdition extends Pick<CompareResult, 'stateRows' | 'emptyByColumn'> {
  changeFile: ContainerFile;
  overlayFile: ContainerFile | null;
}

/** Returns the result of a comparison or correction after its files are written. */
export function resultOf(
  facts: EditionFacts,
  tally: Tally,
  written: WrittenEdition,
  read: OfPublication,
): CompareResult {
  const { kept, keptCells, changedByKind, rowsByKind } = tally;
  const { company, other } = changedByKind;
  const baseline = company.baseline + other.baseline;
  const inserted = company.inserted + other.inserted;
  const updated = company.updated + other.updated;
  const changed = (name: string) => company.changedByColumn[name]! + other.changedByColumn[name]!;
  return {
    ...read,
    ...written,
    baseline,
    inserted,
    updated,
    deleted: company.deleted + other.deleted,
    kept,
    keptCells,
    unchanged: written.stateRows - baseline - inserted - updated - (facts.isFull ? 0 : kept),
    changedByColumn: Object.fromEntries(facts.columns.map((name) => [name, changed(name)])),
    changedByKind,
    rowsByKind,
    parserVersion: facts.parserVersion,
    columns: [...facts.columns],
    indexName: `${facts.register}.${written.changeFile.sha256}`,
  };
}
