import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { insertSettings, makeClickhouse } from '../../../../pipelines/runtime/clickhouse.ts';
import { migrateClickhouse } from '../../../../pipelines/runtime/migrate.ts';
import { makeLastKnownRows } from '../../../../pipelines/watch/watchers.ts';
import { padronReducido } from '../../../../schemas/registers.ts';
import { freshClickhouseDatabase } from '../../../support/engines/isolation.ts';

// The row of a company before it last left the register. When it returns, each watched value that differs makes one
// event.

const endpoints = inject('endpoints');
let database: Awaited<ReturnType<typeof freshClickhouseDatabase>>;
let clickhouse: ReturnType<typeof makeClickhouse>;
const packed = (nombre: string) => JSON.stringify([nombre, 'ACTIVO', 'HABIDO', ...Array(11).fill('-')]);

beforeAll(async () => {
  database = await freshClickhouseDatabase(endpoints);
  await migrateClickhouse(database.CLICKHOUSE_URL);
  clickhouse = makeClickhouse(database.CLICKHOUSE_URL, 'padron-test', { requestTimeoutMs: 30_000, connections: 2 });
  const change = (ruc: number, edition: number, op: string, before: string | null) => ({
    ...{ ruc, register: 1, edition, op, before, after: null, detected_at: 1_795_800_000_000, corrects: null },
  });
  await clickhouse.insert({
    table: 'register_change',
    format: 'JSONEachRow',
    clickhouse_settings: insertSettings,
    values: [
      change(20990000019, 2, 'd', packed('PRIMERA VEZ')),
      change(20990000019, 4, 'd', packed('SEGUNDA VEZ')),
      change(20990000019, 9, 'd', packed('DESPUÉS')),
      change(20990000027, 3, 'u', packed('SIGUE AHÍ')),
    ],
  });
});

afterAll(async () => {
  await clickhouse?.close();
  await database?.drop();
});

it('is the row before the last disappearance ahead of the given edition', async () => {
  const rows = await makeLastKnownRows(clickhouse)(padronReducido, ['20990000019', '20990000027', '20990000035'], 6);
  expect([...rows.keys()]).toEqual(['20990000019']);
  expect(rows.get('20990000019')).toMatchObject({ nombre: 'SEGUNDA VEZ', estado: 'ACTIVO', kilometro: '-' });
});
