import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { endContract, listContracts } from '../../../api/accounts/contracts.ts';
import { removeExpired } from '../../../api/expired.ts';
import { readUse } from '../../../api/metering/ledger.ts';
import { monthOf } from '../../../api/metering/minute-limits.ts';
import { batchAnswer } from '../../../schemas/http/batch.ts';
import {
  expectProblem,
  makeCaller,
  type RunningApi,
  requestsOf,
  startApi,
  type TestCaller,
} from '../../support/api/process.ts';
import { type Surroundings, startSurroundings } from '../../support/api/surroundings.ts';
import { insertEdition, insertTaxpayers, untilCatalogueIsRead } from '../../support/registers/served-register.ts';

const company = '20990000019';
const other = '20990000043';
const unknown = '20131312955';
const person = '10990000013';
const path = '/id/v1/ruc/batch';
const leaseMs = 1_500;

let around: Surroundings;
let second: RunningApi;
let caller: TestCaller;

beforeAll(async () => {
  const settings = { IDEMPOTENCY_LEASE_MS: String(leaseMs) };
  around = await startSurroundings(settings);
  second = await startApi({
    DATABASE_URL: around.postgresLine.url,
    CLICKHOUSE_URL: around.clickhouseLine.url,
    ...settings,
  });
  await insertTaxpayers(around.clickhouse, [
    { line: `${company}|COMERCIAL PRUEBA UNO S.A.C.|ACTIVO|HABIDO|150122|-|-|-|-|-|-|-|-|-|-|` },
    { line: `${other}|ACME PERÚ S.A.A.|BAJA DE OFICIO|HABIDO|150131|-|-|-|-|-|-|-|-|-|-|` },
    { line: `${person}|PERSONA PLANTADA|ACTIVO|HABIDO|-|-|-|-|-|-|-|-|-|-|-|` },
    { line: `${company}|X|2023-10-01|R.S. 1|`, register: 'agentes_retencion' },
  ]);
  await insertEdition(around.pool, { number: 1, fechaDato: '2026-11-26' });
  await insertEdition(around.pool, { register: 'agentes_retencion', number: 1, fechaDato: '2026-11-20' });
  caller = await makeCaller(around.pool, around.api.url, { plan: 'micro' });
  await untilCatalogueIsRead();
});
afterAll(async () => {
  await second.stop();
  await around.stop();
});

interface Sent {
  key?: string;
  by?: TestCaller;
  url?: string;
}

async function send(rucs: unknown, { key, by = caller, url = around.api.url }: Sent = {}): Promise<Response> {
  const headers: Record<string, string> = key === undefined ? {} : { 'idempotency-key': key };
  return requestsOf(url, by.token)(path, { method: 'POST', json: { rucs }, headers });
}

/** Units of the month in PostgreSQL: immediately for a stored answer, within a second for others. */
async function usedBy({ accountId }: TestCaller): Promise<number> {
  return (await readUse(around.pool, accountId, monthOf(Date.now()).firstDay))!.used;
}

describe('a batch', () => {
  test('one entry per input in order, repeats included; each distinct found record is charged once', async () => {
    const by = await makeCaller(around.pool, around.api.url, { plan: 'micro' });
    const response = await send([company, unknown, '123', company, person, '20990000018', other], { by });
    expect(response.status).toBe(200);
    expect(response.headers.get('cache-control')).toBe('no-store');
    expect(response.headers.get('ratelimit')).toContain('"mes"');
    const { data, meta } = batchAnswer.parse(await response.json());
    expect(data.map((entry) => [entry.ruc, entry.encontrado, 'codigo' in entry ? entry.codigo : null])).toEqual([
      [company, true, null],
      [unknown, false, 'ruc_no_encontrado'],
      ['123', null, 'ruc_formato'],
      [company, true, null],
      [person, null, 'contrato_requerido'],
      ['20990000018', null, 'ruc_digito_verificador'],
      [other, true, null],
    ]);
    expect(data[0]).toMatchObject({
      data: { nombre: 'COMERCIAL PRUEBA UNO S.A.C.', distrito: 'MIRAFLORES', es_agente_retencion: true },
      meta: { fecha_dato: '2026-11-26' },
    });
    expect(meta).toMatchObject({
      solicitados: 7,
      encontrados: 3,
      cobrados: 2,
      origen: 'SUNAT - Padrón reducido del RUC',
      fecha_dato: '2026-11-26',
      fecha_padrones: { agentes_retencion: '2026-11-20', buenos_contribuyentes: null },
    });
    expect(meta.fuentes).toHaveLength(2);
    await sleep(1_300);
    expect(await usedBy(by)).toBe(2);
  });

  test.each([
    ['none', [], 'parametro_invalido'],
    ['no list', undefined, 'parametro_invalido'],
    ['a number', [20990000019], 'parametro_invalido'],
    ['101', Array.from({ length: 101 }, () => company), 'limite_excedido'],
  ] as const)('%s: refused', async (_, rucs, code) => {
    await expectProblem(await send(rucs), code);
  });

  test('100 RUCs are accepted; unknown fields, parameters and other body types are refused', async () => {
    expect((await send(Array.from({ length: 100 }, () => company))).status).toBe(200);
    const post = (target: string, options: Parameters<TestCaller['request']>[1]) =>
      caller.request(target, { method: 'POST', ...options });
    await expectProblem(await post(path, { json: { rucs: [company], fecha: '2026-01-01' } }), 'parametro_desconocido');
    await expectProblem(await post(`${path}?x=1`, { json: { rucs: [company] } }), 'parametro_desconocido');
    await expectProblem(await post(path, { body: '{"rucs":' }), 'tipo_no_admitido');
    await expectProblem(await send(['x'.repeat(70_000)]), 'cuerpo_demasiado_grande');
    await expectProblem(await send([company], { key: '"sin cerrar' }), 'parametro_invalido');
    const free = await makeCaller(around.pool, around.api.url, { plan: 'free' });
    await expectProblem(await send([company], { by: free }), 'plan_insuficiente');
  });

  test('natural persons under contract are served, and each answer and each repeat is audited', async () => {
    const contract = { reference: 'CTD-1', from: '2020-01-01', until: null };
    const by = await makeCaller(around.pool, around.api.url, { plan: 'micro', contract });
    const missing = '15990000015';
    const first = await (await send([person, company, missing], { by, key: 'personas' })).text();
    const { data } = batchAnswer.parse(JSON.parse(first));
    expect(data[0]).toMatchObject({ encontrado: true, meta: { direccion_motivo: 'no_publicada_persona_natural' } });
    const again = await send([person, company, missing], { by, key: 'personas' });
    expect([await again.text(), again.headers.get('idempotency-replayed')]).toEqual([first, 'true']);
    const { rows } = await around.pool.query(
      'SELECT route FROM natural_person_audit WHERE account_id = $1 AND contract_reference = $2',
      [by.accountId, 'CTD-1'],
    );
    expect(rows.map(({ route }) => route)).toEqual([path, path, path, path]);
    const kept = await around.pool.query('SELECT sealed FROM idempotent_answer WHERE account_id = $1', [by.accountId]);
    expect(kept.rows[0].sealed.toString('latin1')).not.toContain('PLANTAD');
    expect(around.api.output()).not.toContain('PLANTAD');
    // When the contract ends, stored answers that it opened are closed again.
    const [made] = await listContracts(around.pool, by.accountId, 1);
    await endContract(around.pool, made!.id, null);
    // A process that does not know the token yet reads the contract again.
    const late = await send([person, company, missing], { by, key: 'personas', url: second.url });
    await expectProblem(late, 'contrato_requerido');
  });
});

describe('Idempotency-Key', () => {
  test('of fifty equal batches at once on two processes one is looked up and charged, the others get 409 or its bytes', async () => {
    const by = await makeCaller(around.pool, around.api.url, { plan: 'micro' });
    const responses = await Promise.all(
      Array.from({ length: 50 }, (_, number) =>
        send([company, other, unknown], { by, key: 'pedido-7', url: number % 2 === 0 ? around.api.url : second.url }),
      ),
    );
    const answers = new Set<string>();
    let [executed, replayed] = [0, 0];
    for (const response of responses) {
      if (response.status !== 200) {
        await expectProblem(response, 'idempotencia_en_curso');
        continue;
      }
      if (response.headers.get('idempotency-replayed') === 'true') replayed += 1;
      else executed += 1;
      answers.add(await response.text());
    }
    expect([executed, answers.size]).toEqual([1, 1]);
    // The quoted form is the same key.
    const late = await send([company, other, unknown], { by, key: '"pedido-7"', url: second.url });
    expect([late.headers.get('idempotency-replayed'), answers.has(await late.text())]).toEqual(['true', true]);
    expect(replayed).toBeLessThan(50);
    expect(await usedBy(by)).toBe(2);
  });

  test('another body under the same key is 422; keys belong to an account', async () => {
    expect((await send([company], { key: 'uno' })).status).toBe(200);
    await expectProblem(await send([company, other], { key: 'uno' }), 'idempotencia_otro_cuerpo');
    const by = await makeCaller(around.pool, around.api.url, { plan: 'micro' });
    const response = await send([other], { by, key: 'uno' });
    expect([response.status, response.headers.get('idempotency-replayed')]).toEqual([200, null]);
  });

  test('429 and 503 free the key; a replay needs no quota', async () => {
    await around.pool.query(
      `INSERT INTO plan (name, rank, lookups_per_month, requests_per_minute) VALUES ('mini', 9, 2, 1000)`,
    );
    const by = await makeCaller(around.pool, around.api.url, { plan: 'mini' });
    await expectProblem(await send([company, other, unknown], { by, key: 'k' }), 'cuota_agotada');
    expect(await usedBy(by)).toBe(0);
    await around.clickhouseLine.cut();
    await expectProblem(await send([company, other], { by, key: 'k' }), 'servicio_no_disponible');
    await around.clickhouseLine.mend();
    const first = await send([company, other], { by, key: 'k' });
    expect(first.status).toBe(200);
    await expectProblem(await send([company], { by, key: 'k2' }), 'cuota_agotada');
    const again = await send([company, other], { by, key: 'k' });
    expect(await again.text()).toBe(await first.text());
    expect(await usedBy(by)).toBe(2);
  });

  test('PostgreSQL down: 503 and nothing charged, with a key at once', async () => {
    // Its own account, since charges without a key reach PostgreSQL only within a second.
    const by = await makeCaller(around.pool, around.api.url, { plan: 'micro' });
    expect((await send([company], { by, key: 'caida-0' })).status).toBe(200);
    await around.postgresLine.cut();
    await expectProblem(await send([company], { by, key: 'caida' }), 'servicio_no_disponible');
    await around.postgresLine.mend();
    // A broken connection that is not noticed yet may cause one more 503, which frees the key as well.
    await expect.poll(async () => (await send([company], { by, key: 'caida' })).status, { timeout: 10_000 }).toBe(200);
    expect(await usedBy(by)).toBe(2);
  });

  test('after a process is killed midway: 409 during its lease, then the key is usable and charged once', async () => {
    const by = await makeCaller(around.pool, around.api.url, { plan: 'micro' });
    const silent = createServer(() => {});
    silent.listen(0, '127.0.0.1');
    await once(silent, 'listening');
    const doomed = await startApi({
      DATABASE_URL: around.databaseUrl,
      CLICKHOUSE_URL: `http://default@127.0.0.1:${(silent.address() as AddressInfo).port}/default`,
      IDEMPOTENCY_LEASE_MS: String(leaseMs),
    });
    const lost = send([company, other], { by, key: 'muerta', url: doomed.url }).catch(() => 'lost');
    const held = 'SELECT 1 FROM idempotent_answer WHERE account_id = $1';
    while ((await around.pool.query(held, [by.accountId])).rowCount === 0) await sleep(20);
    const takenAt = Date.now();
    process.kill(doomed.pid, 'SIGKILL');
    expect(await lost).toBe('lost');
    silent.close();
    let response = await send([company, other], { by, key: 'muerta' });
    await expectProblem(response.clone() as Response, 'idempotencia_en_curso');
    while (response.status === 409 && Date.now() - takenAt < leaseMs + 3_000) {
      await sleep(100);
      response = await send([company, other], { by, key: 'muerta' });
    }
    expect([response.status, response.headers.get('idempotency-replayed')]).toEqual([200, null]);
    expect(Date.now() - takenAt).toBeLessThan(leaseMs + 1_000);
    expect(await usedBy(by)).toBe(2);
  });

  test('an expired answer is not repeated, and is removed', async () => {
    const by = await makeCaller(around.pool, around.api.url, { plan: 'micro' });
    const expire = () =>
      around.pool.query(`UPDATE idempotent_answer SET held_until = now() - interval '1 s' WHERE account_id = $1`, [
        by.accountId,
      ]);
    await send([company], { by, key: 'vieja' });
    await expire();
    const anew = await send([company, other], { by, key: 'vieja' });
    expect([anew.status, anew.headers.get('idempotency-replayed')]).toEqual([200, null]);
    await expire();
    expect(await removeExpired(around.pool)).toBe(1);
    const { rowCount } = await around.pool.query('SELECT 1 FROM idempotent_answer WHERE account_id = $1', [
      by.accountId,
    ]);
    expect(rowCount).toBe(0);
  });
});
