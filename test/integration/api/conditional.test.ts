import { afterAll, beforeAll, expect, test } from 'vitest';
import { confirmDate } from '../../../pipelines/editions/freshness.ts';
import { company, startLoadedApi } from '../../support/api/loaded-api.ts';
import type { TestCaller } from '../../support/api/process.ts';
import type { Surroundings } from '../../support/api/surroundings.ts';
import { insertChanges, insertEdition, insertPublication } from '../../support/registers/served-register.ts';

// A client that keeps only the date of an answer. It gets 304 as long as nothing in the answer has changed, and never
// after a change. A correction keeps its edition's date of publication, so that date alone could not show a change.

const record = `/id/v1/ruc/${company}`;
const pastRecord = `${record}?fecha=2026-11-26`;
const history = `${record}/historial`;
const search = '/id/v1/ruc/buscar?q=comercial';
const otherRecord = '/id/v1/ruc/20990000043';

let around: Surroundings;
let caller: TestCaller;

beforeAll(async () => {
  ({ around, caller } = await startLoadedApi());
});
afterAll(() => around?.stop());

const since = (target: string, time: string, options: RequestInit = {}) =>
  caller.request(target, { ...options, headers: { 'if-modified-since': time } });

/** Returns the answer's Last-Modified once it gives 304: a second after the last change at the latest. */
async function settled(target: string): Promise<string> {
  let modified: string | null = null;
  const ask = async () => {
    modified = (await caller.request(target)).headers.get('last-modified');
    return modified === null ? null : (await since(target, modified)).status;
  };
  await expect.poll(ask, { timeout: 10_000 }).toBe(304);
  return modified!;
}

/** Makes the change, and expects that it ends the 304 for the date from before, for good. */
async function expectNewer(targets: readonly string[], change: () => Promise<unknown>): Promise<void> {
  const before = await Promise.all(targets.map(settled));
  await change();
  for (const [index, target] of targets.entries()) {
    await expect.poll(async () => (await since(target, before[index]!)).status, { timeout: 10_000 }).toBe(200);
    const after = await settled(target);
    expect(Date.parse(after), target).toBeGreaterThan(Date.parse(before[index]!));
    expect((await since(target, before[index]!)).status, target).toBe(200);
  }
}

const now = () => new Date().toISOString();

test('304 has no body and the headers of the answer, also for HEAD; a second earlier the whole answer comes', async () => {
  for (const target of [record, pastRecord, history, search]) {
    const modified = await settled(target);
    const whole = await caller.request(target);
    const again = await since(target, modified);
    expect(await again.text()).toBe('');
    for (const name of ['etag', 'last-modified', 'cache-control', 'vary'])
      expect(again.headers.get(name), name).toBe(whole.headers.get(name));
    expect((await since(target, modified, { method: 'HEAD' })).status).toBe(304);
    expect((await since(target, new Date(Date.parse(modified) - 1_000).toUTCString())).status).toBe(200);
    expect((await since(target, new Date(Date.parse(modified) + 1_000).toUTCString())).status).toBe(304);
    expect(Date.parse(modified)).toBeLessThanOrEqual(Date.parse(whole.headers.get('date')!));
  }
});

test('a correction ends it, though its publication is the same', () =>
  expectNewer([record, pastRecord, history, search], () =>
    insertEdition(around.pool, {
      ...{ number: 3, fechaDato: '2026-11-26', publishedAt: '2026-11-26T07:38:00Z', corrects: 2 },
      materialisedAt: now(),
    }),
  ));

test('the same bytes published again end it', () =>
  expectNewer([record, history], () =>
    insertPublication(around.pool, {
      ...{ register: 'buenos_contribuyentes', fechaDato: '2026-11-21' },
      ...{ publishedAt: '2026-11-21T08:00:00Z', state: 'repetida' },
    }),
  ));

test('a date that the source confirms ends it', () =>
  expectNewer([record, history], async () => {
    const sha256 = 'ab'.repeat(32);
    await around.pool.query(
      `INSERT INTO register_head (register, edition, fecha_dato, published_at, publication_sha256, partitions)
       VALUES ('agentes_retencion', 1, '2026-11-20', '2026-11-20T07:38:00Z', $1, 1)`,
      [sha256],
    );
    expect(await confirmDate(around.pool, 'agentes_retencion', sha256, '2026-11-22')).toBe(true);
  }));

test('while an edition is being written, what it has changed has no date, and the rest keeps its own', async () => {
  const other = await settled(otherRecord);
  const line = (estado: string) =>
    `${company}|COMERCIAL PRUEBA UNO S.A.C.|${estado}|HABIDO|150122|-|-|-|-|-|-|-|-|-|-|`;
  await expectNewer([record, history, search], async () => {
    await insertEdition(around.pool, { number: 4, fechaDato: '2026-11-27', materialisedAt: null });
    await insertChanges(around.clickhouse, [{ before: line('ACTIVO'), after: line('BAJA DE OFICIO'), edition: 4 }]);
    for (const target of [record, history, search]) {
      const dated = async () => (await caller.request(target)).headers.get('last-modified');
      await expect.poll(dated, { timeout: 10_000 }).toBeNull();
      expect((await since(target, new Date().toUTCString())).status, target).toBe(200);
    }
    expect((await since(otherRecord, other)).status).toBe(304);
    await around.pool.query(
      "UPDATE edition SET materializada_at = now() WHERE register = 'padron_reducido' AND number = 4",
    );
  });
  expect((await since(otherRecord, other)).status).toBe(200);
});
