import { foldName } from '../../schemas/names/fold.ts';
import { lettersOf, searchedWords } from '../../schemas/names/spans.ts';
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
  'letters',
  'enie',
  'standing',
  'length',
  'estado',
  'condicion',
  'ubigeo',
] as const;
export const wordColumns = ['word'] as const;

/** The number of cells in SearchedCells. */
const searchedCells = 4;
/** Enough bytes for all cells of a row except its texts. */
const fixedBytes = 32;
export const longestLength = 255;
/**
 * Largest number of stored words that this process remembers. It does not write a remembered word again. Common words
 * come early, so they are among the remembered words.
 */
const maxKnownWords = 200_000;
/** Most ways of writing a name (`lettersOf`) that the name's row stores. Nearly all names have only one way. */
export const maxStoredLetters = 12;

/** The cells of the daily register that a search compares or shows. In every release a row begins with them. */
export interface SearchedCells {
  nombre: string;
  estado: string;
  condicion: string;
  ubigeo: string;
}

/**
 * Makes the rows of the tables `ranked_name` and `company_word` from changes of the daily register. Natural persons are
 * skipped by the first two digits of their RUC, and their names are never read. A company's name and its rank
 * (`standingOf`) are part of its row's key in ClickHouse. If an edition changes one of them, the row with the old key
 * is marked as deleted. A row's version is its edition's number, and the highest version of a key counts. So repeats
 * and replays give the same rows in any order.
 */
export class CompanyNames {
  readonly names = new RowBinaryWriter(256 * 1024);
  readonly words = new RowBinaryWriter(64 * 1024);
  readonly #cursor = new ChangeCursor();
  readonly #known = new Set<string>();
  #fresh = new Set<string>();

  /** Empties `names` and `words` and fills them from the batch. They get rows only from the daily register. */
  fill(register: RegisterName, messages: ChangeBatch['messages']): void {
    this.names.clear();
    this.words.clear();
    this.#fresh = new Set();
    if (register !== padronReducido.name) return;
    const today = padronReducido.columns.length;
    for (const { value, columns } of messages) this.#add(value, columns ?? today);
  }

  /** Remembers that the last batch's words are stored, so they are not written again. Call it after their insert. */
  wordsAreStored(): void {
    for (const word of this.#fresh) {
      if (this.#known.size >= maxKnownWords) return;
      this.#known.add(word);
    }
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
    if (op === disappears) this.write(ruc, version, before!, true);
    else if (op === differs) this.#update(ruc, version, before!, after!);
    else this.write(ruc, version, after!);
  }

  /**
   * Writes the company's row even if `before` and `after` have the same name. In a re-baseline, today's parser has read
   * both. An earlier parser may have read the name differently, and then the table has only that other name.
   */
  #update(ruc: number, version: number, before: SearchedCells, after: SearchedCells): void {
    const name = foldName(after.nombre);
    const old = before.nombre === after.nombre ? name : foldName(before.nombre);
    const isMoved = old.base !== name.base || standingOf(before) !== standingOf(after);
    if (isMoved) this.write(ruc, version, before, true, old);
    this.write(ruc, version, after, false, name);
  }

  /** Writes the company's name as edition `version` has it, or marks it as deleted. */
  write(ruc: number, version: number, cells: SearchedCells, isDeleted = false, name = foldName(cells.nombre)): void {
    // A name without letters and digits has no row in the index of names. Its company is found only by its RUC.
    if (name.base === '') return;
    const { names } = this;
    const words = searchedWords(name);
    names.text(name.base);
    names.reserve(fixedBytes);
    names.uint64(ruc);
    names.uint64(version);
    names.uint8(isDeleted ? 1 : 0);
    names.text(name.form);
    names.text(words);
    names.text(lettersOf(name.spans, maxStoredLetters).join(' '));
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

/** Reads the searched cells. The cursor must be at the first cell of a row. */
export function readSearchedCells(cursor: AvroCursor): SearchedCells {
  return { nombre: cursor.string(), estado: cursor.string(), condicion: cursor.string(), ubigeo: cursor.string() };
}

/**
 * Returns a company's rank in search results. Active companies that were found at their address have rank 0 and come
 * first.
 */
export function standingOf({ estado, condicion }: Pick<SearchedCells, 'estado' | 'condicion'>): number {
  if (estado !== 'ACTIVO') return 2;
  return condicion === 'HABIDO' ? 0 : 1;
}
