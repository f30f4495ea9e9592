import { createHash, randomUUID } from 'node:crypto';
import type { Pool, PoolClient } from '../../pipelines/runtime/postgres.ts';
import { type KeyRing, openSecret, sealSecret } from '../../pipelines/runtime/secrets.ts';
import { idempotencyKeyText } from '../../schemas/http/batch.ts';
import { type ApiProblem, fieldProblem } from '../problems.ts';

/** A request that has taken an idempotency key and is working on the answer. */
export interface Run {
  accountId: number;
  keySha256: Buffer;
  /** Random id of the request. When another request has taken the key over, this request can store no answer. */
  holder: string;
}

export interface KeptAnswer {
  /** The exact body, because a repeated request must get the same bytes. */
  body: string;
  /** True when the answer has natural persons' records, which only an account with a contract may see. */
  holdsPersons: boolean;
}

export type Begun =
  | { state: 'started'; run: Run }
  | { state: 'running' }
  | { state: 'other_body' }
  | ({ state: 'answered' } & KeptAnswer);

/** Thrown when a request's lease ended and another request took the key over. The first request is then not charged. */
export class RunLost extends Error {
  override name = 'RunLost';
  readonly code = 'run_lost';
  readonly retryable = true;
}

/** The stored answers by account and key. PostgreSQL keeps them, so every API process can repeat an answer. */
export interface IdempotentAnswers {
  /**
   * Takes the key, or returns why it cannot be taken. If the process then dies, the key stays taken until its lease
   * ends.
   * @param rawBody the request's body as it was sent; a repeated request must have a body with the same SHA-256
   */
  begin(accountId: number, key: string, rawBody: string): Promise<Begun>;
  /** Stores the answer in the transaction that charges for it, so that both are committed together. @throws RunLost */
  keep(client: PoolClient, run: Run, answer: KeptAnswer): Promise<void>;
  /** Frees the key after a failure. If an answer was stored, the answer and its key stay. */
  free(run: Run): Promise<void>;
}

export interface IdempotencyLimits {
  /** How long a key stays taken when the process of its request died. */
  leaseMs: number;
  /** How long a repeated request gets the stored answer. */
  keptHours: number;
}

interface Row {
  fingerprint: Buffer;
  key_id: string | null;
  sealed: Buffer | null;
  holds_persons: boolean;
}

/** Largest number of tries in `begin`. A try fails when the key is freed between the two statements of `begin`. */
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

/**
 * Returns the text to which sealing (encryption) binds an answer: opening needs the same text. So an answer that is
 * copied to another row cannot be opened.
 */
function ownerOf({ accountId, keySha256 }: Run): string {
  return `idempotent_answer:${accountId}:${keySha256.toString('hex')}`;
}

function sha256(text: string): Buffer {
  return createHash('sha256').update(text, 'utf8').digest();
}

/**
 * Reads the header Idempotency-Key. The IETF draft puts the key in quotes; a key without quotes is the same key.
 * @param values the header's values, one for each time that it was sent
 * @returns null when the header was not sent
 * @throws ApiProblem parametro_invalido: the key is empty, too long, not printable, sent twice or lacks its closing
 *   quote
 */
export function readIdempotencyKey(values: readonly string[] | undefined): string | null {
  if (values === undefined) return null;
  if (values.length > 1) throw invalidKey('se envió más de una vez');
  const { data: text, error } = idempotencyKeyText.safeParse(values[0]!.trim());
  if (text === undefined) throw invalidKey(error.issues[0]!.message);
  return text.startsWith('"') ? text.slice(1, -1).replace(/\\(["\\])/g, '$1') : text;
}

// The problem does not repeat the key, because a key may contain any text, even a RUC.
function invalidKey(mensaje: string): ApiProblem {
  return fieldProblem('parametro_invalido', 'Idempotency-Key', mensaje);
}
