import { createHash, randomUUID } from 'node:crypto';
import type { Pool, PoolClient } from '../../pipelines/runtime/postgres.ts';
import { type KeyRing, openSecret, sealSecret } from '../../pipelines/runtime/secrets.ts';
import { idempotencyKeyText } from '../../schemas/http/batch.ts';
import { ApiProblem } from '../problems.ts';

/** A request that works on its answer under a key. */
export interface Run {
  accountId: number;
  keySha256: Buffer;
  holder: string;
}

export interface KeptAnswer {
  /** The exact body. */
  body: string;
  /** It holds records that only a data-processing contract opens. */
  holdsPersons: boolean;
}

export type Begun =
  | { state: 'started'; run: Run }
  | { state: 'running' }
  | { state: 'other_body' }
  | ({ state: 'answered' } & KeptAnswer);

/** Another request took the key over after the lease had ended: what this one did must not be charged. */
export class RunLost extends Error {
  override name = 'RunLost';
  readonly code = 'run_lost';
  readonly retryable = true;
}

/** Answers under an account's keys, in PostgreSQL, so that it does not matter which API process is asked. */
export interface IdempotentAnswers {
  /**
   * Takes the key, or says why not. Dying after it leaves the key taken until its lease ends.
   * @param rawBody the request's body as it was sent: its SHA-256 says whether a repeat is one
   */
  begin(accountId: number, key: string, rawBody: string): Promise<Begun>;
  /** Keeps the answer, inside the transaction that charges for it: both are there or neither. @throws RunLost */
  keep(client: PoolClient, run: Run, answer: KeptAnswer): Promise<void>;
  /** Makes the key usable again after a failure; an answer that is kept stays. */
  free(run: Run): Promise<void>;
}

export interface IdempotencyLimits {
  /** How long a request that died keeps its key. */
  leaseMs: number;
  /** How long an answer is given again. */
  keptHours: number;
}

interface Row {
  fingerprint: Buffer;
  key_id: string | null;
  sealed: Buffer | null;
  holds_persons: boolean;
}

/** A key that is freed between the two statements of `begin` is tried again; more often means that others are as quick. */
const attempts = 5;

export function makeIdempotentAnswers(pool: Pool, ring: KeyRing, limits: IdempotencyLimits): IdempotentAnswers {
  return {
    async begin(accountId, key, rawBody) {
      const run: Run = { accountId, keySha256: sha256(key), holder: randomUUID() };
      const fingerprint = sha256(rawBody);
      for (let attempt = 1; attempt <= attempts; attempt += 1) {
        if (await take(pool, run, fingerprint, limits.leaseMs)) return { state: 'started', run };
        const row = await read(pool, run);
        if (row === null) continue;
        if (!row.fingerprint.equals(fingerprint)) return { state: 'other_body' };
        if (row.key_id === null || row.sealed === null) return { state: 'running' };
        const body = openSecret(ring, ownerOf(run), { keyId: row.key_id, sealed: row.sealed });
        return { state: 'answered', body, holdsPersons: row.holds_persons };
      }
      return { state: 'running' };
    },
    async keep(client, run, { body, holdsPersons }) {
      const { keyId, sealed } = sealSecret(ring, ownerOf(run), body);
      const { rowCount } = await client.query({
        name: 'idempotency-keep',
        text: `UPDATE idempotent_answer SET key_id = $4, sealed = $5, holds_persons = $6,
                 held_until = now() + $7 * interval '1 hour'
               WHERE account_id = $1 AND key_sha256 = $2 AND holder = $3 AND sealed IS NULL`,
        values: [run.accountId, run.keySha256, run.holder, keyId, sealed, holdsPersons, limits.keptHours],
      });
      if (rowCount === 0) throw new RunLost('another request has taken over the idempotency key');
    },
    async free({ accountId, keySha256, holder }) {
      await pool.query({
        name: 'idempotency-free',
        text: `DELETE FROM idempotent_answer
               WHERE account_id = $1 AND key_sha256 = $2 AND holder = $3 AND sealed IS NULL`,
        values: [accountId, keySha256, holder],
      });
    },
  };
}

async function take(pool: Pool, run: Run, fingerprint: Buffer, leaseMs: number): Promise<boolean> {
  const { rowCount } = await pool.query({
    name: 'idempotency-take',
    text: `INSERT INTO idempotent_answer AS held (account_id, key_sha256, fingerprint, holder, held_until)
           VALUES ($1, $2, $3, $4, now() + $5 * interval '1 millisecond')
           ON CONFLICT (account_id, key_sha256) DO UPDATE SET fingerprint = EXCLUDED.fingerprint,
             holder = EXCLUDED.holder, held_until = EXCLUDED.held_until, key_id = NULL, sealed = NULL, holds_persons = false
           WHERE held.held_until <= now()`,
    values: [run.accountId, run.keySha256, fingerprint, run.holder, leaseMs],
  });
  return rowCount === 1;
}

async function read(pool: Pool, { accountId, keySha256 }: Run): Promise<Row | null> {
  const { rows } = await pool.query<Row>({
    name: 'idempotency-read',
    text: `SELECT fingerprint, key_id, sealed, holds_persons FROM idempotent_answer
           WHERE account_id = $1 AND key_sha256 = $2 AND held_until > now()`,
    values: [accountId, keySha256],
  });
  return rows[0] ?? null;
}

/** What a sealed answer is bound to: copied to another row it does not open. */
function ownerOf({ accountId, keySha256 }: Run): string {
  return `idempotent_answer:${accountId}:${keySha256.toString('hex')}`;
}

function sha256(text: string): Buffer {
  return createHash('sha256').update(text, 'utf8').digest();
}

/**
 * The key of the header Idempotency-Key, bare or as the quoted string of the IETF draft: both ways of writing name the same
 * key. null: none was sent.
 * @param values the header as often as it was sent
 * @throws ApiProblem parametro_invalido: empty, too long, not printable, not closed, or sent twice
 */
export function readIdempotencyKey(values: readonly string[] | undefined): string | null {
  if (values === undefined) return null;
  if (values.length > 1) throw invalidKey('se envió más de una vez');
  const { data: text, error } = idempotencyKeyText.safeParse(values[0]!.trim());
  if (text === undefined) throw invalidKey(error.issues[0]!.message);
  return text.startsWith('"') ? text.slice(1, -1).replace(/\\(["\\])/g, '$1') : text;
}

// The key itself is not repeated: it may hold anything, a RUC among it.
function invalidKey(mensaje: string): ApiProblem {
  const campo = 'Idempotency-Key';
  return new ApiProblem('parametro_invalido', `${campo}: ${mensaje}.`, { errors: [{ campo, mensaje }] });
}
