import { inTransaction, type Pool } from '../runtime/postgres.ts';
import { pauseIn } from './deliveries.ts';
import { type PauseCause, writeNotice } from './notices.ts';

/** What is stored with the webhook of how its attempts went. */
export interface StoredHealth {
  failuresInARow: number;
  firstFailureAt: Date | null;
  timeoutsInARow: number;
}

/** The webhook at the moment at which its outcomes are judged, under its lock. */
export interface Standing {
  health: StoredHealth;
  /** Where it points by now: what another URL answered says nothing of this one. */
  url: string;
  /** By PostgreSQL's clock, which all workers share: a worker's that goes wrong pauses nobody. */
  now: Date;
}

export interface HealthVerdict {
  health: StoredHealth;
  lastSuccessAt: Date | null;
  pause: PauseCause | null;
  /** Percent of the way to a pause that the owner should have been warned of by now. */
  warning: 50 | 90 | null;
}

interface HealthRow {
  url: string;
  now: Date;
  estado: 'activo' | 'pausado';
  fallos_consecutivos: number;
  primer_fallo_at: Date | null;
  agotados_consecutivos: number;
}

/**
 * Folds a round's outcomes into the webhook's health, under its lock: two rounds, or a round and a resume, never lose each
 * other's change. `judge` says what becomes of it. A pause holds what is pending, and the owner's notice of it or of a
 * warning is written, in the same transaction: once each.
 * @returns the cause if this call paused the webhook: once per pause, whoever else tries
 */
export function updateHealth(
  pool: Pool,
  webhookId: string,
  judge: (standing: Standing) => HealthVerdict,
): Promise<PauseCause | null> {
  return inTransaction(pool, async (client) => {
    const { rows } = await client.query<HealthRow>(
      `SELECT url, clock_timestamp() AS now, estado, fallos_consecutivos, primer_fallo_at, agotados_consecutivos FROM webhook
       WHERE id = $1 AND deleted_at IS NULL FOR UPDATE`,
      [webhookId],
    );
    const row = rows[0];
    if (row === undefined) return null;
    const stored = {
      failuresInARow: row.fallos_consecutivos,
      firstFailureAt: row.primer_fallo_at,
      timeoutsInARow: row.agotados_consecutivos,
    };
    const { health, lastSuccessAt, pause, warning } = judge({ health: stored, url: row.url, now: row.now });
    await client.query(
      `UPDATE webhook SET fallos_consecutivos = $2, primer_fallo_at = $3, agotados_consecutivos = $4,
         ultima_entrega_at = GREATEST(ultima_entrega_at, $5) WHERE id = $1`,
      [webhookId, health.failuresInARow, health.firstFailureAt, health.timeoutsInARow, lastSuccessAt],
    );
    if (pause !== null) return (await pauseIn(client, webhookId, pause)) ? pause : null;
    // What was under way when its owner paused it may fail still: no pause is to come that one would warn of.
    if (warning !== null && health.firstFailureAt !== null && row.estado === 'activo') {
      await writeNotice(client, webhookId, {
        kind: 'webhook.por_pausar',
        detail: {
          porcentaje: warning,
          fallos_consecutivos: health.failuresInARow,
          primer_fallo_en: health.firstFailureAt.toISOString(),
        },
      });
    }
    return null;
  });
}
