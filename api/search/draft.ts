import type { Filters, Question } from './question.ts';
import type { Rank } from './rank.ts';
import type { Terms } from './terms.ts';

/**
 * A statement and its named parameters, which are texts or lists of texts. They come from foldName(), from the words of
 * companies' names, or from filters that the schema of the request has checked.
 */
export interface Statement {
  query: string;
  parameters: Record<string, unknown>;
}

/** One SELECT of a statement. */
export interface Selection {
  /** SQL for a row's place: 0 for a name that matches the query best, and up to 7 (`place` of Rank in rank.ts). */
  place: string;
  /**
   * All places that this SQL can give, lowest first. If there are two or more, ranked rows are ordered by place. The
   * list is empty for the tier `any`, because its rows stay in the table's order.
   */
  places: readonly number[];
  conditions: readonly string[];
  /** SQL that is 1 where a name counts as the same as the query but its text differs; null: no such names are read. */
  otherSpelling?: string | null;
  /** Whether rows are in the order of ranks. Otherwise they are in the table's order (standing, length, RUC). */
  isRanked?: boolean;
}

/** A statement while it is made. It numbers the parameters and gives every SELECT the same filters and order. */
export class Draft {
  readonly #parameters: Record<string, unknown> = {};
  readonly #question: Question;
  readonly #isRanked: boolean;
  readonly #rows: number;
  readonly #always: readonly string[];
  readonly #mismatch: string | null;
  #count = 0;

  /** @param firstRows number of rows to read in the table's order; null to read the best rows in the order of ranks */
  constructor(question: Question, firstRows: number | null) {
    this.#question = question;
    this.#isRanked = firstRows === null;
    this.#rows = firstRows ?? question.limit;
    this.#always = ['is_deleted = 0', ...this.#filters(question.filters)];
    this.#mismatch = this.#mismatchOf(question.terms);
  }

  list(values: readonly string[]): string {
    return this.#add(values, 'Array(String)');
  }

  text(value: string): string {
    return this.#add(value, 'String');
  }

  select(selection: Selection): string {
    const { place, places, conditions, otherSpelling = null, isRanked = this.#isRanked } = selection;
    const { after } = this.#question;
    const byMismatch = this.#mismatch !== null || otherSpelling !== null;
    const keys = [
      ...(isRanked && places.length > 1 ? (['place'] as const) : []),
      'standing' as const,
      ...(isRanked && byMismatch ? (['mismatch'] as const) : []),
      ...(['length', 'ruc'] as const),
    ];
    const where = [...this.#always, ...conditions];
    if (after !== null && places.length > 0) {
      if (after.place > places.at(-1)!) where.push('0');
      else if (after.place >= places[0]!) where.push(isAfter(after, keys));
    }
    const mismatch = [this.#mismatch, otherSpelling].filter((part) => part !== null).join(' + ') || '0';
    return `SELECT name, form, toString(ruc) AS ruc_text, standing, length, toUInt8(${place}) AS place,
  toUInt8(${mismatch}) AS mismatch, ruc
FROM ranked_name WHERE ${where.join(' AND ')}
ORDER BY ${keys.join(', ')} LIMIT ${this.#rows}`;
  }

  /**
   * Makes a SELECT of the names of several groups, all with the same `place` of their rank (rank.ts). A group is the
   * names that fulfil its conditions, for example all terms but one. A group with `most` names or more is left out,
   * because so many names say nothing about the query.
   * @param groups the conditions of each group; no name may be in two groups
   */
  selectSmallGroups(place: number, groups: readonly (readonly string[])[], most: number): string {
    const { after, limit } = this.#question;
    const selects = groups.map(
      (conditions, group) => `SELECT name, form, toString(ruc) AS ruc_text, standing, length,
  toUInt8(${this.#mismatch ?? '0'}) AS mismatch, ruc, toUInt8(${group}) AS part
FROM ranked_name WHERE ${[...this.#always, ...conditions].join(' AND ')} ORDER BY standing, length, ruc LIMIT ${most}`,
    );
    const keys = ['standing', 'mismatch', 'length', 'ruc'] as const;
    const rest = after?.place === place ? ` AND ${isAfter(after, keys)}` : '';
    return `SELECT name, form, ruc_text, standing, length, toUInt8(${place}) AS place, mismatch
FROM (SELECT *, count() OVER (PARTITION BY part) AS names FROM (${selects.join('\nUNION ALL\n')}))
WHERE names < ${most}${rest} ORDER BY ${keys.join(', ')} LIMIT ${limit}`;
  }

  finish(selects: readonly string[]): Statement {
    if (selects.length === 1) return { query: selects[0]!, parameters: this.#parameters };
    const order = 'ORDER BY place, standing, mismatch, length, ruc';
    const query = `SELECT name, form, ruc_text, standing, length, place, mismatch
FROM (${selects.join('\nUNION ALL\n')}) ${order} LIMIT ${this.#rows}`;
    return { query, parameters: this.#parameters };
  }

  /**
   * Returns SQL for a number that is higher when a name's Ñ or legal form differs from the typed one. Returns null when
   * the query has neither of them, because the number would then be the same for all names.
   */
  #mismatchOf({ form, enie }: Terms): string | null {
    const parts: string[] = [];
    if (enie.length > 0) {
      const typed = this.list(enie.map((word) => ` ${word}`));
      parts.push(`2 * toUInt8(NOT arrayAll(each -> position(concat(' ', enie), each) > 0, ${typed}))`);
    }
    if (form !== '') parts.push(`toUInt8(form != ${this.text(form)})`);
    return parts.length === 0 ? null : parts.join(' + ');
  }

  #filters({ estados, condiciones, ubigeo }: Filters): string[] {
    const parts: string[] = [];
    if (estados !== null) parts.push(`has(${this.list(estados)}, estado)`);
    if (condiciones !== null) parts.push(`has(${this.list(condiciones)}, condicion)`);
    // The column has the daily register's ubigeo. A row without a code there passes too, and confirm() in
    // find-companies.ts then compares the monthly register's ubigeo.
    if (ubigeo !== null) parts.push(`(startsWith(ubigeo, ${this.text(ubigeo)}) OR NOT match(ubigeo, '^[0-9]'))`);
    return parts;
  }

  #add(value: unknown, type: string): string {
    this.#count += 1;
    const name = `value${this.#count}`;
    this.#parameters[name] = value;
    return `{${name}:${type}}`;
  }
}

function isAfter(after: Rank, keys: readonly (keyof Rank)[]): string {
  return `(${keys.join(', ')}) > (${keys.map((key) => after[key]).join(', ')})`;
}
