import type { z } from 'zod';
import { es } from 'zod/locales';

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
