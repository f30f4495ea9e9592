import { within } from '../../pipelines/runtime/lifecycle.ts';
import type { Pool } from '../../pipelines/runtime/postgres.ts';
import { limaDay } from '../../schemas/lima-time.ts';
import { type LastKnownLimits, makeLastKnown } from '../last-known.ts';
import { ApiProblem, isUnavailable, throwUnavailable } from '../problems.ts';
import { type ContractDays, contractInForce, openContracts } from './contracts.ts';
import { mustBeNoted, noteUse, readToken, secretMatches } from './tokens.ts';

/** The token of a request, and the account that owns the token. */
export interface Caller {
  tokenId: string;
  /** Set when somebody asks in the console. */
  sessionId?: string;
  accountId: number;
  plan: string;
  planRank: number;
  /** The plan's limit of requests per clock minute, over all routes. */
  requestsPerMinute: number;
  /** Reference of the data-processing contract in force today, if there is one. */
  contract: string | null;
}

/** The rank of each plan that an operation may require. The rank of an account's plan is read from the database. */
export const planRanks = { free: 1, micro: 2, crecimiento: 3, empresa: 4 } as const;
export type PlanName = keyof typeof planRanks;

/** The lowest plan that includes watch lists. */
export const watchPlan: PlanName = 'crecimiento';

/** What the database knows of a token's account. */
export interface AccountState {
  account_id: number;
  plan: string;
  rank: number;
  requests_per_minute: number;
  contracts: ContractDays[];
}

interface TokenState extends AccountState {
  secret_sha256: Buffer;
  revoked: boolean;
  /** Whether this use of the token is to be noted. */
  is_unnoted: boolean;
}

/** Columns of an AccountState, for a query with the account `a` and its plan `p`. */
export const accountStateColumns = `a.id AS account_id, a.plan, p.rank, p.requests_per_minute, ${openContracts} AS contracts`;

export function callerOfState(tokenId: string, state: AccountState): Caller {
  return {
    tokenId,
    accountId: state.account_id,
    plan: state.plan,
    planRank: state.rank,
    requestsPerMinute: state.requests_per_minute,
    contract: contractInForce(state.contracts, limaDay(new Date()))?.reference ?? null,
  };
}

/**
 * A revoked token is refused within 5 s. While PostgreSQL is down, a token's last known state is used for 60 s. A process
 * that has just started knows no token, and its first reads may be slow.
 */
const tokenLimits: LastKnownLimits = {
  freshMs: 5_000,
  servesMs: 60_000,
  loadTimeoutMs: 2_000,
  firstTimeoutMs: 5_000,
  retryAfterMs: 1_000,
  maxEntries: 50_000,
};

export type Identify = (authorization: string | undefined) => Promise<Caller>;

/**
 * Makes the function that finds a request's caller by the Authorization header. That function throws:
 * @throws ApiProblem sin_token, token_invalido, token_revocado or token_sandbox for a missing or refused token;
 *   servicio_no_disponible when PostgreSQL does not answer and this process does not know the token's state
 */
export function makeIdentify(pool: Pool, sandboxToken: string): Identify {
  const states = makeLastKnown((id: string) => readTokenState(pool, id), tokenLimits);
  return async (authorization) => {
    const text = bearerText(authorization);
    if (text === sandboxToken)
      throw new ApiProblem(
        'token_sandbox',
        'El token de pruebas público abre el calendario y nada más. Use un token propio.',
      );
    const token = readToken(text);
    if (token === null) throw invalidToken();
    const state = await states.get(token.id).catch(throwUnavailable);
    if (state === null || !secretMatches(token.secret, state.secret_sha256)) throw invalidToken();
    if (state.revoked)
      throw new ApiProblem('token_revocado', 'El token fue revocado. Use otro.', {}, challenge('invalid_token'));
    if (state.is_unnoted) {
      state.is_unnoted = false;
      // Nobody waits for it, and a request does not fail with it. The next process or the next minute tries again.
      noteUse(pool, token.id).catch(() => {});
    }
    return callerOfState(token.id, state);
  };
}

/** @throws ApiProblem plan_insuficiente; its text names the plan that is needed */
export function requirePlan(caller: Caller, needed: PlanName): void {
  if (caller.planRank >= planRanks[needed]) return;
  throw new ApiProblem(
    'plan_insuficiente',
    `Esta operación está incluida desde el plan ${needed}; la cuenta tiene el plan ${caller.plan}.`,
  );
}

function bearerText(authorization: string | undefined): string {
  if (authorization === undefined || authorization.trim() === '')
    throw new ApiProblem(
      'sin_token',
      'Falta el token: envíelo en la cabecera Authorization: Bearer <token>.',
      {},
      challenge(),
    );
  const match = /^bearer +([^\s]+) *$/i.exec(authorization);
  if (match === null) throw invalidToken('La cabecera debe decir Authorization: Bearer y, tras un espacio, el token.');
  return match[1]!;
}

function invalidToken(
  detail = 'El token no es de ninguna cuenta. Cópielo completo, desde pad_live_ hasta el final.',
): ApiProblem {
  return new ApiProblem('token_invalido', detail, {}, challenge('invalid_token'));
}

function challenge(error?: string): Record<string, string> {
  return { 'WWW-Authenticate': error === undefined ? 'Bearer' : `Bearer error="${error}"` };
}

async function readTokenState(pool: Pool, id: string): Promise<TokenState | null> {
  const { rows } = await pool.query<TokenState>({
    name: 'token-state',
    text: `SELECT t.secret_sha256, t.revoked_at IS NOT NULL AS revoked, ${mustBeNoted} AS is_unnoted, ${accountStateColumns}
           FROM token t JOIN account a ON a.id = t.account_id JOIN plan p ON p.name = a.plan
           WHERE t.id = $1`,
    values: [id],
  });
  return rows[0] ?? null;
}

/** Finds the caller who reads the calendar. Null means the sandbox token, or a token that cannot be looked up now. */
export type IdentifyReader = (authorization: string | undefined) => Promise<Caller | null>;

/** Longest wait of a calendar request for the state of its token. PostgreSQL normally answers in a few milliseconds. */
const readerWaitMs = 500;

/**
 * Makes the function that finds the caller of a calendar request, or null for an unnamed caller. The calendar is
 * public, so the sandbox token opens it. While PostgreSQL is down, every token of the right form opens the calendar.
 * The made function throws:
 * @throws ApiProblem sin_token, token_invalido or token_revocado for a missing or refused token
 */
export function makeIdentifyReader(identify: Identify, waitMs = readerWaitMs): IdentifyReader {
  return async (authorization) => {
    try {
      return await within(waitMs, identify(authorization));
    } catch (error) {
      if (error instanceof ApiProblem ? opensAnyway.has(error.code) : isUnavailable(error)) return null;
      throw error;
    }
  };
}

const opensAnyway = new Set<ApiProblem['code']>(['token_sandbox', 'servicio_no_disponible']);
