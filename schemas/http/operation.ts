import type { z } from 'zod';
import type { ProblemCode } from './problem.ts';

/**
 * The input and the answer of one operation of the public API, with Spanish texts for the OpenAPI document. The method,
 * path and plan of the operation are in api/operations.ts.
 */
export interface OperationSchemas {
  /** A text of one line. */
  summary: string;
  /** Explains what the schemas do not show. */
  description?: string;
  query?: z.ZodObject;
  /** Request headers that only this operation takes. */
  headers?: z.ZodObject;
  body?: z.ZodType;
  isBodyOptional?: true;
  /**
   * The most entries that a list in the body may have, by the list's field. A longer list gives `limite_excedido` before
   * the schema is applied, because checking tens of thousands of wrong entries would cost more than a look-up.
   */
  listLimits?: Readonly<Record<string, number>>;
  /** The schema of the whole JSON answer. If left out, the answer is a text, a file, or empty (204). */
  answer?: z.ZodType;
  textType?: 'text/calendar' | 'text/event-stream';
  /** The types of a file that is the answer, by the request's Accept. Ranges of it can be asked for. */
  fileTypes?: readonly string[];
  /** The status of a success. If left out, it is 200, or 204 where the answer is empty. */
  status?: 201 | 202;
  /**
   * The operation's own error codes. `problemsOf` (api/openapi/document.ts) adds the codes of plan, charge, path,
   * body and lists.
   */
  problems?: readonly ProblemCode[];
}

/** The operations, by their ids. */
export type Operations = Readonly<Record<string, OperationSchemas>>;
