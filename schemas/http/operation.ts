import type { z } from 'zod';
import type { ProblemCode } from './problem.ts';

/**
 * What one operation of the public API takes and answers, with its Spanish texts for the document. Method, path and
 * plan stand in the table of operations (api/operations.ts).
 */
export interface OperationSchemas {
  /** One line. */
  summary: string;
  /** What the schemas do not say. */
  description?: string;
  query?: z.ZodObject;
  /** Request headers of this operation alone. */
  headers?: z.ZodObject;
  body?: z.ZodType;
  isBodyOptional?: true;
  /** The handler applies `body` itself, since one of its own checks must come first. */
  isBodyParsedByHandler?: true;
  /** The whole JSON answer. Without it the answer is text of `textType`, or empty (204). */
  answer?: z.ZodType;
  textType?: string;
  /** Left out: 200, or 204 where the answer is empty. */
  status?: 201 | 202;
  /** Codes besides those that follow from plan, charge, path and body (`problemsOf` in api/openapi/document.ts). */
  problems?: readonly ProblemCode[];
}

/** Operations by their ids. */
export type Operations = Readonly<Record<string, OperationSchemas>>;
