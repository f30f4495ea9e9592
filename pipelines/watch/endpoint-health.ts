import { inTransaction, type Pool } from '../../deploy/runtime/postgres.ts';
import { type PauseCause, pauseIn } from './deliveries.ts';

/** Failures in a row as stored with the webhook. */
export interface StoredHealth {
  failuresInARow: number;
  firstFailureAt: Date | null;
}

/**
 * Folds a round's outcomes into the webhook's health, under its lock: two rounds, or a round and a resume, never lose each
 * other's change. `judge` says what becomes of it. A pause holds what is pending in the same transaction.
 * @returns the cause if this call paused the webhook: once per pause, whoever else tries
 */
export function updateHealth(
  pool: Pool,
  webhookId: string,
  lastSuccessAt: Date | null,
  judge: (health: StoredHealth) => { health: StoredHealth; pause: PauseCause | null },
): Promise<PauseCause | null> {
  return inTransaction(pool, async (client) => {
    const { rows } = await client.query<{ fallos_consecutivos: number; primer_fallo_at: Date | null }>(
      'SELECT fallos_consecutivos, primer_fallo_at FROM webhook WHERE id = $1 AND deleted_at IS NULL FOR UPDATE',
      [webhookId],
    );
    const row = rows[0];
    if (row === undefined) return null;
    const { health, pause } = judge({ failuresInARow: row.fallos_consecutivos, firstFailureAt: row.primer_fallo_at });
    await client.query(
      `UPDATE webhook SET fallos_consecutivos = $2, primer_fallo_at = $3,
         ultima_entrega_at = GREATEST(ultima_entrega_at, $4) WHERE id = $1`,
      [webhookId, health.failuresInARow, health.firstFailureAt, lastSuccessAt],
    );
    if (pause === null) return null;
    return (await pauseIn(client, webhookId, pause)) ? pause : null;
  });
}
