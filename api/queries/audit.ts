import { createHmac } from 'node:crypto';
import type { Pool } from '../../pipelines/runtime/postgres.ts';

/** One answer about natural persons: which account got it, under which contract, by which route. */
export interface NaturalPersonAnswers {
  accountId: number;
  tokenId: string;
  contract: string;
  /** The audit gets one row for each RUC. */
  rucs: readonly string[];
  route: string;
  requestId: string;
}

export type RecordAnswers = (answers: NaturalPersonAnswers) => Promise<void>;

/**
 * Makes the function that writes the audit rows. Call that function before the answer is sent. If the process dies in
 * between, there are rows without an answer, but never an answer without rows. A row has the RUC's HMAC-SHA256 under a
 * key from the environment. With the key we can find who asked about a given RUC; the table alone names nobody.
 */
export function makeAudit(pool: Pool, key: string): RecordAnswers {
  return async ({ accountId, tokenId, contract, rucs, route, requestId }) => {
    const hashes = rucs.map((ruc) => createHmac('sha256', key).update(ruc).digest());
    await pool.query({
      name: 'audit-natural-persons',
      text: `INSERT INTO natural_person_audit (account_id, token_id, contract_reference, ruc_hmac, route, request_id)
             SELECT $1, $2, $3, hash, $5, $6 FROM unnest($4::bytea[]) AS hash`,
      values: [accountId, tokenId, contract, hashes, route, requestId],
    });
  };
}
