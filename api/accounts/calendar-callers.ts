import { ApiProblem } from '../problems.ts';
import type { Caller, Identify } from './callers.ts';

/** Who reads the calendar; null: the sandbox token, or a token that could not be looked up. */
export type IdentifyReader = (authorization: string | undefined) => Promise<Caller | null>;

/** A look-up of a known database takes a few milliseconds; the calendar does not wait for one that hangs. */
const readerWaitMs = 500;

/**
 * The calendar is public data: the sandbox token opens it, and while PostgreSQL does not answer so does any well-formed
 * token. `identify` judges a token's form before it asks the database, so what is still waiting is well-formed.
 * @throws ApiProblem sin_token, token_invalido, token_revocado
 */
export function makeIdentifyReader(identify: Identify, waitMs = readerWaitMs): IdentifyReader {
  return async (authorization) => {
    let timer: NodeJS.Timeout | undefined;
    const tooLong = new Promise<null>((resolve) => {
      timer = setTimeout(() => resolve(null), waitMs);
    });
    try {
      return await Promise.race([identify(authorization), tooLong]);
    } catch (error) {
      if (error instanceof ApiProblem && opensAnyway.has(error.code)) return null;
      throw error;
    } finally {
      clearTimeout(timer);
    }
  };
}

const opensAnyway = new Set<ApiProblem['code']>(['token_sandbox', 'servicio_no_disponible']);
