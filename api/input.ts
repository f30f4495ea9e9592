import type { z } from 'zod';
import { es } from 'zod/locales';
import { limaDay, startOfLimaDay } from '../schemas/lima-time.ts';
import { type ApiProblem, fieldProblem } from './problems.ts';

/** A kind of list. A cursor contains the kind and the last entry's key, so other kinds of list refuse the cursor. */
type CursorKind =
  | 'eventos'
  | 'eventos_previos'
  | 'listas'
  | 'miembros'
  | 'historial'
  | 'buscar'
  | 'entregas'
  | 'avisos'
  | 'ediciones';

const keyForms: Readonly<Record<CursorKind, RegExp>> = {
  eventos: /^[0-9]{1,15}$/,
  eventos_previos: /^[0-9]{1,15}$/,
  listas: /^[0-9]{1,15}$/,
  miembros: /^[0-9]{11}$/,
  avisos: /^[0-9]{1,15}$/,
  ediciones: /^[0-9]{1,15}$/,
  /** The last entry's creation time in microseconds, and its id. */
  entregas: /^[0-9]{1,17}\.[A-Za-z0-9_-]{1,64}$/,
  /** The last entry's day, register code, edition, and index within its change. */
  historial: /^\d{4}-\d{2}-\d{2}\.[0-9]{1,3}\.[0-9]{1,15}\.[0-9]{1,3}$/,
  /** Edition, number of hits so far, rank of the last hit, and a seal over these and the question (search/rank.ts). */
  buscar: /^(?:[0-9]{1,15}\.){6}[0-9]{11}\.[0-9a-f]{32}$/,
};

export function writeCursor(kind: CursorKind, key: string | number): string {
  return Buffer.from(`${kind}:${key}`).toString('base64url');
}

/** @throws ApiProblem parametro_invalido for a cursor that this service did not write */
export function readCursor(kind: CursorKind, cursor: string | undefined, start: string): string {
  if (cursor === undefined) return start;
  const [name, key] = Buffer.from(cursor, 'base64url').toString().split(':');
  if (name === kind && key !== undefined && keyForms[kind].test(key) && writeCursor(kind, key) === cursor) return key;
  throw notOfThisList();
}

/**
 * Returns a page of rows and the cursor to the next page, or a null cursor for the last page.
 * @param rows at most `limite` + 1 rows; the extra row shows that a next page exists
 */
export function pageOf<Row>(
  kind: CursorKind,
  rows: readonly Row[],
  limite: number,
  keyOf: (last: Row) => string | number,
): { page: Row[]; cursor: string | null } {
  const page = rows.slice(0, limite);
  return { page, cursor: rows.length > limite ? writeCursor(kind, keyOf(page.at(-1)!)) : null };
}

export function notOfThisList(): ApiProblem {
  return fieldProblem('parametro_invalido', 'cursor', 'no es un cursor de esta lista');
}

const secondMs = 1_000;
/** Every day in Lima has 24 hours, because Lima has no daylight saving time. */
const dayMs = 86_400_000;

/** Returns the first instant that a filter `desde` includes. @param moment a day in Lima, or an instant */
export function instantFrom(moment: string): Date {
  return isDay(moment) ? startOfLimaDay(moment) : new Date(moment);
}

/**
 * Returns the first instant that a filter `hasta` excludes; `moment` itself is included. Answers show whole seconds,
 * but PostgreSQL stores microseconds. A `moment` copied from an answer must include what that answer shows. So without
 * a fraction it includes its whole second.
 */
export function instantAfter(moment: string): Date {
  const stepMs = isDay(moment) ? dayMs : moment.includes('.') ? 1 : secondMs;
  return new Date(instantFrom(moment).getTime() + stepMs);
}

/** Returns the moment's day in Lima. */
export function dayOf(moment: string): string {
  return isDay(moment) ? moment : limaDay(new Date(moment));
}

function isDay(moment: string): boolean {
  return moment.length === 10;
}

type RawIssue = z.core.$ZodRawIssue;

const kinds: Readonly<Record<string, string>> = {
  string: 'debe ser un texto, entre comillas en JSON',
  number: 'debe ser un número',
  int: 'debe ser un número entero',
  boolean: 'debe ser true o false',
  array: 'debe ser una lista, entre corchetes',
  object: 'debe ser un objeto JSON, entre llaves',
};
const formats: Readonly<Record<string, string>> = {
  date: 'debe ser una fecha que exista, escrita AAAA-MM-DD',
  datetime: 'debe ser una fecha y hora como 2026-11-27T09:00:00-05:00',
  uuid: 'debe ser un UUID',
};
const { localeError } = es();

/** Returns a Spanish text about a wrong value: our text about what to send instead, or else zod's own Spanish text. */
export function spanishIssue(issue: RawIssue): string | undefined {
  return ownWords(issue) ?? textOf(localeError(issue));
}

function ownWords(issue: RawIssue): string | undefined {
  switch (issue.code) {
    case 'invalid_type':
      return ofType(issue.expected, issue.input);
    case 'invalid_value':
      return issue.input === undefined ? 'es obligatorio' : `debe ser ${listOf(issue.values.map(String))}`;
    case 'invalid_format':
      return formats[issue.format];
    case 'too_big':
      return `debe ${unitOf(issue.origin, `hasta ${issue.maximum}`)}`;
    case 'too_small':
      return `debe ${unitOf(issue.origin, `desde ${issue.minimum}`)}`;
    default:
      return undefined;
  }
}

function ofType(expected: string, input: unknown): string | undefined {
  if (input === undefined) return 'es obligatorio';
  // A parameter that is given twice arrives as a list.
  return expected === 'string' && Array.isArray(input) ? 'debe ser un solo texto' : kinds[expected];
}

function unitOf(origin: string, bound: string): string {
  if (origin === 'string') return `tener ${bound} caracteres`;
  return origin === 'array' ? `tener ${bound} elementos` : `ser un número ${bound}`;
}

function listOf(values: readonly string[]): string {
  return values.length < 2 ? values.join() : `${values.slice(0, -1).join(', ')} o ${values.at(-1)}`;
}

function textOf(said: ReturnType<typeof localeError>): string | undefined {
  return typeof said === 'object' ? said?.message : said;
}
