import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { replayHeader } from '../../../../pipelines/stream/kafka.ts';
import { registers } from '../../../../schemas/registers.ts';
import { batchOf, change, makeWatchHarness, type WatchHarness } from '../../../support/watch/harness.ts';

let harness: WatchHarness;
beforeAll(async () => {
  harness = await makeWatchHarness(inject('endpoints'));
});
afterAll(() => harness.close());

const detectedAt = new Date('2026-11-27T15:02:00Z');
const [entering, leaving, kept] = ['20990000019', '20990000027', '20990000035'] as const;
const listed = { nombre: 'EMPRESA', desde: '2026-12-01', resolucion: 'R.S. 1' };

it('a company that enters or leaves a list of taxpayers makes an event with booleans and that list’s own date', async () => {
  // The daily register does not know these companies and has another date.
  await harness.edition(1, '2026-11-26', detectedAt);
  await harness.edition(2, '2026-11-20', detectedAt, { register: 'agentes_retencion' });
  const account = await harness.account();
  await harness.list(account, 'Proveedores', [entering, leaving, kept]);
  const { id } = await harness.webhook(account, 'https://example.com/', { eventos: ['ruc.agente_retencion_cambiado'] });
  const changes = [
    change(2, entering, detectedAt, { op: 'c', before: null, after: listed }),
    change(2, leaving, detectedAt, { op: 'd', before: listed, after: null }),
    change(2, kept, detectedAt, { before: listed, after: { ...listed, resolucion: 'R.S. 2' } }),
    change(2, '10458741239', detectedAt, { op: 'c', before: null, after: listed }),
  ];
  // The last row in the daily register does not count for this list.
  const lastKnownRows = async (_register: unknown, rucs: readonly string[]) => {
    expect(rucs).toEqual([]);
    return new Map();
  };
  const handle = harness.handler({ lastKnownRows });
  await handle(batchOf(changes, 0, 0, 'agentes_retencion'));
  const { rows } = await harness.pool.query<{ payload: string; estado: string }>(
    `SELECT e.payload, d.estado FROM event e JOIN delivery d ON d.event_id = e.id AND d.webhook_id = $1
     WHERE e.account_id = $2 ORDER BY e.position`,
    [id, account],
  );
  const fecha_dato = '2026-11-20';
  expect(rows.map(({ payload, estado }) => [JSON.parse(payload).datos, estado])).toEqual([
    [{ ruc: entering, campo: 'es_agente_retencion', antes: false, despues: true, fecha_dato }, 'pendiente'],
    [{ ruc: leaving, campo: 'es_agente_retencion', antes: true, despues: false, fecha_dato }, 'pendiente'],
  ]);
});

it('registers without events are not even read, and a replayed record makes no event', async () => {
  const account = await harness.account();
  await harness.list(account, 'Clientes', [entering]);
  const noBytes = { ...batchOf([], 0, 0, 'sancionados'), messages: [{ offset: '0', value: Buffer.alloc(0) }] };
  expect(registers.sancionados.presence).toBeUndefined();
  await harness.handler()(noBytes);
  await harness.edition(3, '2026-11-20', detectedAt, { register: 'agentes_retencion' });
  const batch = batchOf(
    [change(3, entering, detectedAt, { op: 'c', before: null, after: listed })],
    0,
    0,
    'agentes_retencion',
  );
  const messages = batch.messages.map((message) => ({ ...message, headers: { [replayHeader]: Buffer.from('3') } }));
  await harness.handler()({ ...batch, messages });
  const { rows } = await harness.pool.query('SELECT 1 FROM event WHERE account_id = $1', [account]);
  expect(rows).toEqual([]);
});
