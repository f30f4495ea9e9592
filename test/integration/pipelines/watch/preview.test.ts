import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import type { Change } from '../../../../pipelines/changes/record.ts';
import { previewNotices } from '../../../../pipelines/watch/preview.ts';
import type { LastKnownRows } from '../../../../pipelines/watch/watchers.ts';
import { pauseWebhook } from '../../../../pipelines/webhooks/pauses.ts';
import type { RegisterName } from '../../../../schemas/registers.ts';
import { writeChanges } from '../../../support/registers/change-files.ts';
import { batchOf, change, makeWatchHarness, row, type WatchHarness } from '../../../support/watch/harness.ts';

// What approving a publication would send, counted before, is what the consumer `watch` writes afterwards.

const [acme, bravo, charlie] = ['20990000019', '20990000027', '20990000035'];
const detectedAt = new Date('2026-11-27T09:20:31.250Z');
const edition = 2;
const never = new AbortController().signal;
let harness: WatchHarness;
let folder: string;

beforeAll(async () => {
  harness = await makeWatchHarness(inject('endpoints'));
  folder = mkdtempSync(join(tmpdir(), 'padron-preview-'));
});
afterAll(async () => {
  await harness?.close();
  rmSync(folder, { recursive: true, force: true });
});

/** The row with which a company left the register once; its return makes events for what differs. */
const lastKnownRows: LastKnownRows = async (_register, rucs) =>
  new Map(rucs.filter((ruc) => ruc === charlie).map((ruc) => [ruc, row({ condicion: 'NO HABIDO' })]));

interface Written {
  accountId: number;
  evento: string;
  events: number;
  deliveries: number;
  held: number;
}

/** What the consumer wrote, counted in the tables. */
async function written(register: RegisterName): Promise<Written[]> {
  const { rows } = await harness.pool.query<Written>(
    `SELECT e.account_id AS "accountId", e.evento, count(DISTINCT e.id)::int AS events, count(d.id)::int AS deliveries,
       (count(*) FILTER (WHERE d.estado = 'retenida'))::int AS held
     FROM event e LEFT JOIN delivery d ON d.day = e.day AND d.event_id = e.id
     WHERE e.register = $1 GROUP BY 1, 2`,
    [register],
  );
  return rows;
}

const inOrder = (counts: readonly Written[]) =>
  [...counts].sort((one, other) => one.accountId - other.accountId || one.evento.localeCompare(other.evento));

async function rowsInTables(): Promise<unknown> {
  const { rows } = await harness.pool.query(
    `SELECT (SELECT count(*) FROM event) AS events, (SELECT count(*) FROM delivery) AS deliveries,
       (SELECT count(*) FROM account_position) AS positions, (SELECT count(*) FROM webhook_work) AS work`,
  );
  return rows[0];
}

async function preview(register: RegisterName, changes: readonly Change[]) {
  const { path } = writeChanges(folder, register, edition, changes);
  const wanted = { register, number: edition, fechaDato: '2026-11-26', detectedAt };
  return previewNotices({ pool: harness.pool, lastKnownRows }, wanted, path, never);
}

it('counts by customer and kind exactly what is sent after the approval, and writes nothing', async () => {
  const { pool } = harness;
  await harness.edition(edition, '2026-11-26', detectedAt);
  const [first, second, third] = [await harness.account(), await harness.account(), await harness.account()];
  const list = await harness.list(first, 'Proveedores', [acme, bravo, charlie]);
  await harness.list(first, 'Clientes', [acme]);
  await harness.list(second, 'Otros', [bravo]);
  // A list whose deletion, a company whose addition and a webhook whose creation come too late, or too early.
  const gone = await harness.list(third, 'Borrada', [acme]);
  await pool.query('UPDATE watch_list SET deleted_at = now() WHERE id = $1', [gone]);
  const late = await harness.list(third, 'Tardía', [acme]);
  await pool.query('UPDATE watch_member SET added_at = $2 WHERE list_id = $1', [
    late,
    new Date(detectedAt.getTime() + 1),
  ]);
  await harness.webhook(first, 'https://example.com/todo');
  await harness.webhook(first, 'https://example.com/lista', { listas: [list], eventos: ['ruc.estado_cambiado'] });
  const paused = await harness.webhook(second, 'https://example.com/pausado');
  await pauseWebhook(pool, paused.id, 'cliente');
  const tooLate = await harness.webhook(second, 'https://example.com/tarde');
  const after = new Date(detectedAt.getTime() + 1);
  await pool.query('UPDATE webhook SET created_at = $2 WHERE id = $1', [tooLate.id, after]);

  const changes = [
    change(edition, '10458741239', detectedAt, { after: row({ estado: 'BAJA DEFINITIVA' }) }),
    change(edition, acme, detectedAt, { after: row({ estado: 'SUSPENSION TEMPORAL', nombre: 'OTRO NOMBRE S.A.' }) }),
    change(edition, bravo, detectedAt, { op: 'd', after: null }),
    change(edition, charlie, detectedAt, { op: 'c', before: null }),
    change(edition, '20990000043', detectedAt, { after: row({ estado: 'BAJA DEFINITIVA' }) }),
  ];
  const before = await rowsInTables();
  const counts = await preview('padron_reducido', changes);
  expect(await rowsInTables()).toEqual(before);
  expect(counts.length).toBeGreaterThanOrEqual(5);
  expect(counts.some(({ held }) => held > 0)).toBe(true);

  await harness.handler({ lastKnownRows })(batchOf(changes));
  expect(inOrder(counts)).toEqual(inOrder(await written('padron_reducido')));
});

it('counts the events of a list of taxpayers, and none of a register that makes none', async () => {
  await harness.edition(edition, '2026-11-26', detectedAt, { register: 'agentes_retencion' });
  const account = await harness.account();
  await harness.list(account, 'Agentes', [acme]);
  const cells = { nombre: 'X', desde: '2026-01-01', resolucion: 'R-1' };
  const changes = [change(edition, acme, detectedAt, { op: 'c', before: null, after: cells })];
  const counts = await preview('agentes_retencion', changes);
  await harness.handler({ lastKnownRows })(batchOf(changes, 0, 0, 'agentes_retencion'));
  const sent = await written('agentes_retencion');
  expect(sent.length).toBeGreaterThan(0);
  expect(inOrder(counts)).toEqual(inOrder(sent));
  expect(await preview('sancionados', [])).toEqual([]);
});
