import { inTransaction, type Pool } from '../../../pipelines/runtime/postgres.ts';
import type { TakenBack } from '../../../pipelines/watch/corrections.ts';
import { type AccountEvent, writeEvents } from '../../../pipelines/watch/events.ts';
import { eventId } from '../../../pipelines/watch/match.ts';
import { raiseWork } from '../../../pipelines/webhooks/work.ts';
import { limaDay } from '../../../schemas/lima-time.ts';
import type { TestCaller } from '../api/process.ts';

/** Inserts a list of the account. */
export async function insertList(pool: Pool, by: TestCaller): Promise<number> {
  const { rows } = await pool.query<{ id: number }>(
    'INSERT INTO watch_list (account_id, nombre) VALUES ($1, gen_random_uuid()::text) RETURNING id',
    [by.accountId],
  );
  return rows[0]!.id;
}

export interface EditionOfEvents {
  list: number;
  edition: number;
  rucs: readonly string[];
  detectedAt: Date;
}

/**
 * Writes events as the watch consumer does: in one transaction, with positions from the account's counter.
 * @param wrong the changes that the edition takes back
 */
export async function writeChanges(
  pool: Pool,
  by: TestCaller,
  { list, edition, rucs, detectedAt }: EditionOfEvents,
  wrong: TakenBack | null = null,
): Promise<void> {
  const events = rucs.map(
    (ruc): AccountEvent => ({
      id: eventId('padron_reducido', edition, ruc, 'estado', list),
      accountId: by.accountId,
      register: 'padron_reducido',
      edition,
      ruc,
      field: { evento: 'ruc.estado_cambiado', campo: 'estado', antes: 'ACTIVO', despues: 'SUSPENSIÓN TEMPORAL' },
      list: { id: list, nombre: 'Lista', referencia: null },
      fechaDato: limaDay(detectedAt),
      ocurridoEn: detectedAt,
    }),
  );
  await inTransaction(pool, async (client) => {
    const day = limaDay(detectedAt);
    await client.query('SELECT ensure_event_day($1)', [day]);
    const { webhookIds } = await writeEvents(client, day, detectedAt, events, wrong);
    await raiseWork(client, webhookIds, day);
  });
}
