import { createHmac } from 'node:crypto';
import type { Pool } from '../../pipelines/runtime/postgres.ts';
import type { RegisterName } from '../../schemas/registers.ts';

/** Whose answer it is: which account asked, under which contract, and by which route. */
interface Asker {
  accountId: number;
  tokenId: string;
  contract: string;
  route: string;
  requestId: string;
}

/** One answer about natural persons. The audit gets one row for each RUC, or one row for a whole edition. */
export type NaturalPersonAnswers = Asker &
  ({ rucs: readonly string[] } | { edition: { register: RegisterName; number: number } });

export type RecordAnswers = (answers: NaturalPersonAnswers) => Promise<void>;

/**
 * Makes the function that writes the audit rows. Call that function before the answer is sent. If the process dies in
 * between, there are rows without an answer, but never an answer without rows. A row has the RUC's HMAC-SHA256 under a
 * key from the environment. With the key we can find who asked about a given RUC; the table alone names nobody. A row of
 * an edition stands for every RUC in the edition's change file. A row for each would be millions per download.
 */
export function makeAudit(pool: Pool, key: string): RecordAnswers {
  return async (answers) => {
    const { accountId, tokenId, contract, route, requestId } = answers;
    const asker = [accountId, tokenId, contract, route, requestId];
    if ('edition' in answers) {
      const { register, number } = answers.edition;
      await pool.query({
        name: 'audit-edition',
        text: `INSERT INTO natural_person_audit
                 (account_id, token_id, contract_reference, route, request_id, register, edition)
               VALUES ($1, $2, $3, $4, $5, $6, $7)`,
        values: [...asker, register, number],
      });
      return;
    }
    const hashes = answers.rucs.map((ruc) => createHmac('sha256', key).update(ruc).digest());
    await pool.query({
      name: 'audit-natural-persons',
      text: `INSERT INTO natural_person_audit (account_id, token_id, contract_reference, route, request_id, ruc_hmac)
             SELECT $1, $2, $3, $4, $5, hash FROM unnest($6::bytea[]) AS hash`,
      values: [...asker, hashes],
    });
  };
}
