import type { z } from 'zod';
import type { OperationName, Operations } from '../openapi/routes.ts';

/** Types of the client, inferred from the schemas that the API checks requests and answers with. */

type Simplified<Type> = { [Key in keyof Type]: Type[Key] } & {};

/** What a query carries is text: numbers and booleans are written for the caller. */
type Written<Value> =
  string extends NonNullable<Value> ? Value | number : 'true' extends NonNullable<Value> ? Value | boolean : Value;
type WrittenAll<Query> = { [Key in keyof Query]: Written<Query[Key]> };

type Of<Name extends OperationName> = Operations[Name];
type PathOf<O> = O extends { parameters: infer Schema extends z.ZodType } ? z.input<Schema> : unknown;
type QueryOf<O> = O extends { query: infer Schema extends z.ZodType } ? WrittenAll<z.input<Schema>> : unknown;
type BodyOf<O> = O extends { body: infer Schema extends z.ZodType }
  ? O extends { isBodyOptional: true }
    ? { body?: z.input<Schema> }
    : { body: z.input<Schema> }
  : unknown;
type KeyOf<O> = O extends { headers: z.ZodType } ? { idempotencyKey?: string } : unknown;

/** Parameters of path and query by their names, `body`, and the key of a batch. */
export type InputOf<Name extends OperationName> = Simplified<
  PathOf<Of<Name>> & QueryOf<Of<Name>> & BodyOf<Of<Name>> & KeyOf<Of<Name>>
>;

/** The whole answer: `data` and `meta`; text of a feed; nothing of a 204. */
export type AnswerOf<Name extends OperationName> =
  Of<Name> extends { schema: infer Schema extends z.ZodType }
    ? z.output<Schema>
    : Of<Name> extends { type: string }
      ? string
      : undefined;

export interface CallOptions {
  signal?: AbortSignal;
}

/** An input may be left out where nothing in it is required. */
type Call<Name extends OperationName> =
  Record<string, never> extends InputOf<Name>
    ? (input?: InputOf<Name>, options?: CallOptions) => Promise<AnswerOf<Name>>
    : (input: InputOf<Name>, options?: CallOptions) => Promise<AnswerOf<Name>>;

/** One method per operation of the API. @throws PadronError when the API answers a problem */
export type PadronClient = { readonly [Name in OperationName]: Call<Name> };
