import type { z } from 'zod';
import { es } from 'zod/locales';
import { limaDay, startOfLimaDay } from '../schemas/lima-time.ts';
import { ApiProblem } from './problems.ts';

/** Cursors are opaque to the caller: the kind of list and the key of the last entry, so that one cannot serve another list. */
export type CursorKind = 'eventos' | 'listas' | 'miembros' | 'historial' | 'buscar' | 'entregas' | 'avisos';

const keyForms: Readonly<Record<CursorKind, RegExp>> = {
  eventos: /^[0-9]{1,15}$/,
  listas: /^[0-9]{1,15}$/,
  miembros: /^[0-9]{11}$/,
  avisos: /^[0-9]{1,15}$/,
  /** Microseconds at which the last one was made, and its id. */
  entregas: /^[0-9]{1,17}\.[A-Za-z0-9_-]{1,64}$/,
  /** Of the last entry: day, register's code, edition and place among the change's entries. */
  historial: /^\d{4}-\d{2}-\d{2}\.[0-9]{1,3}\.[0-9]{1,15}\.[0-9]{1,3}$/,
  /** api/search/rank.ts: edition, hits given, the last one's rank, and a seal of these and the question. */
  buscar: /^(?:[0-9]{1,15}\.){6}[0-9]{11}\.[0-9a-f]{32}$/,
};

export function writeCursor(kind: CursorKind, key: string | number): string {
  return Buffer.from(`${kind}:${key}`).toString('base64url');
}

/** @throws ApiProblem parametro_invalido when it is none of ours */
export function readCursor(kind: CursorKind, cursor: string | undefined, start: string): string {
  if (cursor === undefined) return start;
  const [name, key] = Buffer.from(cursor, 'base64url').toString().split(':');
  if (name === kind && key !== undefined && keyForms[kind].test(key) && writeCursor(kind, key) === cursor) return key;
  throw notOfThisList();
}

export function notOfThisList(): ApiProblem {
  const mensaje = 'no es un cursor de esta lista';
  return new ApiProblem('parametro_invalido', `cursor: ${mensaje}.`, { errors: [{ campo: 'cursor', mensaje }] });
}

/** Bounds of a filter by time. A moment is a day in Lima, taken whole, or an instant; `desde` and `hasta` are included. */

const secondMs = 1_000;
/** Of a day in Lima, where no clock is changed. */
const dayMs = 86_400_000;

export function instantFrom(moment: string): Date {
  return isDay(moment) ? startOfLimaDay(moment) : new Date(moment);
}

/**
 * The first instant that is not included: times are kept in microseconds, so the end of one is no instant to compare with. One
 * given to the second means that second whole: to the second is how times are shown.
 */
export function instantAfter(moment: string): Date {
  const stepMs = isDay(moment) ? dayMs : moment.includes('.') ? 1 : secondMs;
  return new Date(instantFrom(moment).getTime() + stepMs);
}

/** The day in Lima on which the moment is. */
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

/** What is wrong with a value, in words that say what to send instead; what these do not know zod's own Spanish says. */
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
  // A parameter that stands twice in the address comes as a list.
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
