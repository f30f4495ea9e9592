import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openSecret, parseKeyRing } from '../../../pipelines/runtime/secrets.ts';
import { claimDeliveries } from '../../../pipelines/webhooks/claim.ts';
import { testAnswer } from '../../../schemas/http/deliveries.ts';
import { noticesAnswer, rotatedSecretAnswer, webhookAnswer } from '../../../schemas/http/webhooks.ts';
import { apiSecrets, expectProblem, makeCaller, type TestCaller } from '../../support/api/process.ts';
import { type Surroundings, startSurroundings } from '../../support/api/surroundings.ts';
import { claimLimits, entregas, makeScene, publicUrl, ruc, webhooks, work } from '../../support/api/webhook-scene.ts';
import { insertList } from '../../support/watch/events.ts';

const ring = parseKeyRing(apiSecrets.WEBHOOK_SECRET_KEYS);

let around: Surroundings;
let stranger: TestCaller;

beforeAll(async () => {
  around = await startSurroundings();
  stranger = await makeCaller(around.pool, around.api.url);
});
afterAll(() => around.stop());

describe('changing a webhook', () => {
  test('each field changes alone, null means all again, and another URL is another endpoint', async () => {
    const { by, id, path, list, read } = await makeScene(around, { descripcion: 'ERP', eventos: ['ruc.baja'] });
    await around.pool.query(
      'UPDATE webhook SET fallos_consecutivos = 19, primer_fallo_at = now(), agotados_consecutivos = 4 WHERE id = $1',
      [id],
    );
    const change = async (json: unknown) => {
      const response = await by.request(path, { method: 'PATCH', json });
      expect(response.status).toBe(200);
      return webhookAnswer.parse(await response.json()).data;
    };
    const before = await read();
    expect(await change({ limite_por_segundo: 7, en_vuelo: 3 })).toEqual({
      ...before,
      limite_por_segundo: 7,
      en_vuelo: 3,
    });
    expect(await change({ listas: [list], eventos: null })).toMatchObject({ listas: [list], eventos: null });
    expect(await change({ listas: null, descripcion: null })).toMatchObject({ listas: null, descripcion: null });
    expect(await change({ url: publicUrl })).toMatchObject({ fallos_consecutivos: 19 });
    expect(await change({ url: `${publicUrl}/otros` })).toMatchObject({
      url: `${publicUrl}/otros`,
      fallos_consecutivos: 0,
    });
    expect(await read()).toMatchObject({ limite_por_segundo: 7, en_vuelo: 3 });
  });

  test('what can never succeed', async () => {
    const { by, path } = await makeScene(around);
    const patch = (json: unknown, caller = by) => caller.request(path, { method: 'PATCH', json });
    for (const wrong of [
      {},
      { eventos: [] },
      { listas: [] },
      { en_vuelo: 51 },
      { limite_por_segundo: 0 },
      { url: null },
    ])
      await expectProblem(await patch(wrong), 'parametro_invalido');
    await expectProblem(await patch({ estado: 'activo' }), 'parametro_desconocido');
    await expectProblem(await patch({ listas: [await insertList(around.pool, stranger)] }), 'recurso_no_encontrado');
    await expectProblem(await patch({ en_vuelo: 2 }, stranger), 'recurso_no_encontrado');
    // superlog#154: an update must be checked like a creation.
    for (const url of ['https://127.0.0.1/', 'http://93.184.216.34/', 'https://10.0.0.1/', 'https://169.254.169.254/'])
      await expectProblem(await patch({ url }), 'url_no_permitida');
  });
});

describe('another secret', () => {
  test('the previous ones sign during the grace period, newest first, three at most', async () => {
    const { by, id, path, post, secreto } = await makeScene(around);
    const rotate = async (json?: unknown) => {
      const response = await post(`${path}/secreto`, json);
      expect(response.status).toBe(200);
      return rotatedSecretAnswer.parse(await response.json()).data;
    };
    const signing = async () => {
      const { target } = await claimDeliveries(around.pool, id, claimLimits, () => 0);
      return target!.secrets.map((sealed) => openSecret(ring, id, sealed));
    };
    const first = await rotate();
    expect(Date.parse(first.anterior_vence_en) - Date.now()).toBeGreaterThan(23.9 * 3_600_000);
    expect(await signing()).toEqual([first.secreto, secreto]);
    const second = await rotate({ gracia_horas: 168 });
    expect(await signing()).toEqual([second.secreto, first.secreto, secreto]);
    const third = await rotate({ gracia_horas: 1 });
    expect(await signing()).toEqual([third.secreto, second.secreto, first.secreto]);
    // A later rotation must not extend an earlier grace period.
    const { rows } = await around.pool.query(
      `SELECT expires_at < now() + interval '2 hours' AS soon FROM webhook_secret WHERE webhook_id = $1 ORDER BY number`,
      [id],
    );
    expect(rows.map(({ soon }) => soon)).toEqual([true, true, null]);
    const alone = await rotate({ gracia_horas: 0 });
    expect(await signing()).toEqual([alone.secreto]);
    for (const hours of [-1, 169, 1.5])
      await expectProblem(await post(`${path}/secreto`, { gracia_horas: hours }), 'parametro_invalido');
    await expectProblem(await stranger.request(`${path}/secreto`, { method: 'POST' }), 'recurso_no_encontrado');
    expect(await (await by.request(path)).text()).not.toContain('whsec_');
  });

  test('two rotations at once leave two new secrets and the old one', async () => {
    const { id, path, post } = await makeScene(around);
    await Promise.all([post(`${path}/secreto`), post(`${path}/secreto`)]);
    const { rows } = await around.pool.query('SELECT number FROM webhook_secret WHERE webhook_id = $1 ORDER BY 1', [
      id,
    ]);
    expect(rows.map(({ number }) => number)).toEqual([1, 2, 3]);
  });
});

describe('a test of the endpoint', () => {
  test('is claimed while the webhook is paused, tried once, and neither in the history nor counted as pending', async () => {
    const { by, id, path, post, announce, read, delivery } = await makeScene(around);
    await announce(ruc);
    await post(`${path}/pausar`);
    const response = await post(`${path}/prueba`);
    expect(response.status).toBe(202);
    const { entrega } = testAnswer.parse(await response.json()).data;
    expect(await read()).toMatchObject({ estado: 'pausado', pendientes: 1 });
    const claimed = await work(around, id, { success: false, response: 'no hoy' });
    expect(claimed).toMatchObject([{ id: entrega, event: 'ping', isTest: true, attempt: 1 }]);
    const payload = JSON.parse(claimed[0]!.payload);
    expect(payload).toEqual({
      id: expect.stringMatching(/^ev_[A-Za-z0-9_-]{22}$/),
      evento: 'ping',
      ocurrido_en: expect.stringMatching(/-05:00$/),
      datos: null,
      watchlist: null,
    });
    expect(await delivery(entrega)).toMatchObject({
      evento: 'ping',
      evento_id: payload.id,
      estado: 'agotada',
      proximo_intento_en: null,
      historial_intentos: [
        { numero: 1, estado_http: 503, fallo: 'estado_http', respuesta: 'no hoy', respuesta_cortada: false },
      ],
    });
    const history = (await (await by.request('/id/v1/watch/eventos')).json()) as { data: { evento: string }[] };
    expect(history.data.map(({ evento }) => evento)).toEqual(['ruc.estado_cambiado']);
    await post(`${path}/reanudar`);
    expect((await work(around, id, { success: true })).map(({ event }) => event)).toEqual(['ruc.estado_cambiado']);
  });

  test('is not held by a pause, checks the URL again, and is unknown to another account', async () => {
    const { id, path, post } = await makeScene(around);
    await post(`${path}/prueba`);
    await post(`${path}/pausar`);
    expect(await work(around, id, { success: true })).toHaveLength(1);
    await around.pool.query("UPDATE webhook SET url = 'https://127.0.0.1/' WHERE id = $1", [id]);
    await expectProblem(await post(`${path}/prueba`), 'url_no_permitida');
    await expectProblem(await stranger.request(`${path}/prueba`, { method: 'POST' }), 'recurso_no_encontrado');
  });
});

test('owner notices are listed newest first, for the own account only', async () => {
  const { by, id, path, post } = await makeScene(around);
  await around.pool.query('UPDATE webhook SET fallos_consecutivos = 10, primer_fallo_at = now() WHERE id = $1', [id]);
  await around.pool.query(
    `INSERT INTO notice (account_id, webhook_id, kind, detail)
     VALUES ($1, $2, 'webhook.por_pausar', '{"porcentaje": 50, "fallos_consecutivos": 10, "primer_fallo_en": "2026-11-26T12:00:00.000Z"}')`,
    [by.accountId, id],
  );
  await post(`${path}/pausar`);
  await post(`${path}/reanudar`);
  const page = async (query = '') =>
    noticesAnswer.parse(await (await by.request(`/id/v1/watch/avisos${query}`)).json());
  const first = await page('?limite=2');
  expect(first.data).toMatchObject([
    { aviso: 'webhook.reanudado', webhook: id, detalle: { liberadas: 0 } },
    { aviso: 'webhook.pausado', webhook: id, detalle: { causa: 'cliente' } },
  ]);
  const second = await page(`?cursor=${first.meta.cursor}`);
  expect(second).toMatchObject({
    data: [{ aviso: 'webhook.por_pausar', detalle: { porcentaje: 50, primer_fallo_en: '2026-11-26T07:00:00-05:00' } }],
    meta: { cursor: null },
  });
  expect((await stranger.request('/id/v1/watch/avisos').then((r) => r.json())) as unknown).toMatchObject({ data: [] });
});

test('after a downgrade an account can read but not change; one that never watched cannot read', async () => {
  const { by, path, list, announce, deliveries } = await makeScene(around);
  await announce(ruc);
  const { id: entrega } = (await deliveries()).data[0]!;
  const never = await makeCaller(around.pool, around.api.url, { plan: 'micro' });
  const before = await makeCaller(around.pool, around.api.url);
  await around.pool.query("UPDATE account SET plan = 'micro' WHERE id = $1", [by.accountId]);
  expect(before.accountId).not.toBe(by.accountId);
  const lists = '/id/v1/watch/listas';
  await expect
    .poll(async () => (await by.request(lists, { method: 'POST', json: { nombre: 'x' } })).status, { timeout: 7_000 })
    .toBe(403);
  const readable = [
    lists,
    `${lists}/${list}`,
    `${lists}/${list}/rucs`,
    webhooks,
    path,
    `${path}/entregas`,
    `${entregas}/${entrega}`,
    '/id/v1/watch/eventos',
    '/id/v1/watch/avisos',
  ];
  for (const target of readable) {
    expect((await by.request(target)).status, target).toBe(200);
    await expectProblem(await never.request(target), 'plan_insuficiente');
  }
  for (const [method, target] of [
    ['POST', lists],
    ['PATCH', `${lists}/${list}`],
    ['DELETE', `${lists}/${list}`],
    ['POST', `${lists}/${list}/rucs`],
    ['DELETE', `${lists}/${list}/rucs/${ruc}`],
    ['POST', webhooks],
    ['PATCH', path],
    ['DELETE', path],
    ['POST', `${path}/pausar`],
    ['POST', `${path}/reanudar`],
    ['POST', `${path}/prueba`],
    ['POST', `${path}/secreto`],
    ['POST', `${path}/recuperaciones`],
    ['POST', `${entregas}/${entrega}/reenviar`],
    ['GET', '/id/v1/watch/eventos/stream'],
  ] as const)
    await expectProblem(await by.request(target, { method }), 'plan_insuficiente');
});
