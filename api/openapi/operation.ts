import type { z } from 'zod';
import type { ProblemCode } from '../../schemas/http/problem.ts';

export const tags = ['Contribuyentes', 'Calendario', 'Vigilancia', 'Cuenta'] as const;

/** What opens a route: the lowest plan; or, of the calendar, any token and the public one, of a feed in its address too. */
export type Access = 'free' | 'micro' | 'crecimiento' | 'calendario' | 'calendario_ics';

/** How long an answer may be kept: with an ETag and asked for again each time, a minute, or not at all. */
export type Keeping = 'revalidated' | 'minute' | 'never';

/** One route of the public API as its callers see it: the document, the client and the suites are made from these. */
export interface Operation {
  method: 'get' | 'post' | 'patch' | 'delete';
  /** With parameters in braces. */
  path: `/id/v1/${string}`;
  tag: (typeof tags)[number];
  /** Spanish, one line. */
  summary: string;
  /** Spanish: what the schemas do not say. */
  description?: string;
  access: Access;
  /** Counts against the month; the text says what is charged. */
  charge?: string;
  parameters?: z.ZodObject;
  query?: z.ZodObject;
  headers?: z.ZodObject;
  body?: z.ZodType;
  isBodyOptional?: true;
  /** Of the success; `schema` null: no body, or text. */
  status: 200 | 201 | 202 | 204;
  schema: z.ZodType | null;
  /** Of a success that is no JSON. */
  type?: string;
  keeping: Keeping;
  /** A GET without HEAD. */
  isGetOnly?: true;
  /** Besides what follows from the fields above: see problems-of.ts. */
  problems?: readonly ProblemCode[];
}
