import { type FoldedName, foldName, searchedWords } from '../../schemas/names.ts';
import { padronReducido, type RegisterName } from '../../schemas/registers.ts';
import type { AvroCursor } from '../changes/avro.ts';
import { headerBytes } from '../changes/record.ts';
import { ChangeCursor, differs, disappears } from '../changes/record-bytes.ts';
import type { ChangeBatch } from './batch.ts';
import { RowBinaryWriter } from './row-binary.ts';

export const nameColumns = [
  'name',
  'ruc',
  'version',
  'is_deleted',
  'form',
  'words',
  'enie',
  'standing',
  'length',
  'estado',
  'condicion',
  'ubigeo',
] as const;
export const wordColumns = ['word'] as const;

/** Cells of SearchedCells. */
const searchedCells = 4;
/** Everything of a row but its texts. */
const fixedBytes = 32;
export const longestLength = 255;
/** Words this process knows to be stored; those that stand in many names come first. */
const maxKnownWords = 200_000;

/** Cells of the daily register that a search compares or shows; its first ones in every release so far. */
export interface SearchedCells {
  nombre: string;
  estado: string;
  condicion: string;
  ubigeo: string;
}

/**
 * Makes the rows of `ranked_name` and `company_word` out of changes of the daily register. Natural persons are passed over
 * by the first two digits: their names are never read. Rows are versioned by edition like the state, and a name that a
 * company lost, or its place in the table's order, is marked by the edition that took it, so any order of repeats and replays ends
 * in the same rows.
 */
export class CompanyNames {
  readonly names = new RowBinaryWriter(256 * 1024);
  readonly words = new RowBinaryWriter(64 * 1024);
  readonly #cursor = new ChangeCursor();
  readonly #known = new Set<string>();
  #fresh = new Set<string>();

  /** Replaces what was there by the batch's rows; none for other registers. */
  fill(register: RegisterName, messages: ChangeBatch['messages']): void {
    this.names.clear();
    this.words.clear();
    this.#fresh = new Set();
    if (register !== padronReducido.name) return;
    const today = padronReducido.columns.length;
    for (const { value, columns } of messages) this.#add(value, columns ?? today);
  }

  /** The words of the last batch are on the disk: they need not be written again. Called after their insert, never before. */
  wordsAreStored(): void {
    for (const word of this.#fresh) {
      if (this.#known.size >= maxKnownWords) return;
      this.#known.add(word);
    }
  }

  /** One company as edition `version` has it; for whoever has rows and no records. */
  write(ruc: number, version: number, cells: SearchedCells, isDeleted = false): void {
    this.#write(ruc, version, foldName(cells.nombre), cells, isDeleted);
  }

  #add(value: Buffer, columns: number): void {
    const cursor = this.#cursor;
    cursor.reset(value, headerBytes, value.length);
    cursor.readHead();
    if (!cursor.isOfCompany()) return;
    const { edition: version, op } = cursor;
    const ruc = Number(cursor.key());
    const before = this.#cells(columns);
    const after = this.#cells(columns);
    if (op === disappears) this.#write(ruc, version, foldName(before!.nombre), before!, true);
    else if (op === differs) this.#update(ruc, version, before!, after!);
    else this.#write(ruc, version, foldName(after!.nombre), after!, false);
  }

  /**
   * Also where nothing that is searched for differs: `before` is what today's parser reads, and the stored row may be an earlier
   * one's. So each company has its row of the last edition that wrote every row, or of a later one.
   */
  #update(ruc: number, version: number, before: SearchedCells, after: SearchedCells): void {
    const name = foldName(after.nombre);
    const old = before.nombre === after.nombre ? name : foldName(before.nombre);
    const isMoved = old.base !== name.base || standingOf(before) !== standingOf(after);
    if (isMoved) this.#write(ruc, version, old, before, true);
    this.#write(ruc, version, name, after, false);
  }

  #write(ruc: number, version: number, name: FoldedName, cells: SearchedCells, isDeleted: boolean): void {
    // A company without a name yet, or one that has no letters: nothing that could be typed finds it but its RUC.
    if (name.base === '') return;
    const { names } = this;
    const words = searchedWords(name.base);
    names.text(name.base);
    names.reserve(fixedBytes);
    names.uint64(ruc);
    names.uint64(version);
    names.uint8(isDeleted ? 1 : 0);
    names.text(name.form);
    names.text(words);
    names.text(name.enie);
    names.reserve(fixedBytes);
    names.uint8(standingOf(cells));
    names.uint8(Math.min(name.base.length, longestLength));
    names.text(cells.estado);
    names.text(cells.condicion);
    names.text(cells.ubigeo);
    names.rows += 1;
    if (!isDeleted) this.#addWords(words);
  }

  #addWords(words: string): void {
    for (const word of words.split(' ')) {
      if (this.#known.has(word) || this.#fresh.has(word)) continue;
      this.#fresh.add(word);
      this.words.text(word);
      this.words.rows += 1;
    }
  }

  #cells(columns: number): SearchedCells | null {
    const cursor = this.#cursor;
    if (!cursor.isThere()) return null;
    const cells = readSearchedCells(cursor);
    for (let cell = searchedCells; cell < columns; cell += 1) cursor.skipString();
    return cells;
  }
}

/** The cells that are searched, from a cursor at the first cell of a row. */
export function readSearchedCells(cursor: AvroCursor): SearchedCells {
  return { nombre: cursor.string(), estado: cursor.string(), condicion: cursor.string(), ubigeo: cursor.string() };
}

/** Active companies that are where they say come first among equal names. */
export function standingOf({ estado, condicion }: Pick<SearchedCells, 'estado' | 'condicion'>): number {
  if (estado !== 'ACTIVO') return 2;
  return condicion === 'HABIDO' ? 0 : 1;
}
