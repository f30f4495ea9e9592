import { createHmac } from 'node:crypto';
import type { Pool } from '../../deploy/runtime/postgres.ts';

/** One answer about a natural person: who got it, under which contract, by which route. */
export interface NaturalPersonAnswer {
  accountId: number;
  tokenId: string;
  contract: string;
  ruc: string;
  route: string;
  requestId: string;
}

export type RecordAnswer = (answer: NaturalPersonAnswer) => Promise<void>;

/**
 * Writes the audit row before the answer is sent: dying between them leaves a row for an answer that nobody got, never an
 * answer without its row. The RUC is kept as HMAC-SHA256 under a key of the environment: one who asks about a given RUC
 * can be answered, but the table alone names nobody.
 */
export function makeAudit(pool: Pool, key: string): RecordAnswer {
  return async (answer) => {
    await pool.query({
      name: 'audit-natural-person',
      text: `INSERT INTO natural_person_audit (account_id, token_id, contract_reference, ruc_hmac, route, request_id)
             VALUES ($1, $2, $3, $4, $5, $6)`,
      values: [
        answer.accountId,
        answer.tokenId,
        answer.contract,
        createHmac('sha256', key).update(answer.ruc).digest(),
        answer.route,
        answer.requestId,
      ],
    });
  };
}
