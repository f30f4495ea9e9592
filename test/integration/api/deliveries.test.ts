import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openSecret, parseKeyRing } from '../../../pipelines/runtime/secrets.ts';
import { claimDeliveries } from '../../../pipelines/webhooks/claim.ts';
import { advanceRecovery, defaultRecoveryLimits } from '../../../pipelines/webhooks/recoveries.ts';
import { recordResults } from '../../../pipelines/webhooks/results.ts';
import {
  createdRecoveryAnswer,
  deliveriesAnswer,
  deliveryAnswer,
  recoveryAnswer,
  resentAnswer,
  testAnswer,
} from '../../../schemas/http/deliveries.ts';
import {
  createdWebhookAnswer,
  noticesAnswer,
  rotatedSecretAnswer,
  webhookAnswer,
} from '../../../schemas/http/webhooks.ts';
import { limaDay } from '../../../schemas/lima-time.ts';
import { apiSecrets, expectProblem, makeCaller, type TestCaller } from '../../support/api/process.ts';
import { type Surroundings, startSurroundings } from '../../support/api/surroundings.ts';
import { insertList, writeChanges } from '../../support/watch/events.ts';
import { makeWatchRows } from '../../support/watch/harness.ts';

const webhooks = '/id/v1/watch/webhooks';
const entregas = '/id/v1/watch/entregas';
// A literal public address needs no name server. Nothing is sent to it.
const publicUrl = 'https://93.184.216.34/avisos';
const at = new Date('2026-11-26T12:00:00Z');
const ruc = '20990000019';
const ring = parseKeyRing(apiSecrets.WEBHOOK_SECRET_KEYS);
const claimLimits = { deliveryLeaseMs: 60_000, workLeaseMs: 60_000 };

let around: Surroundings;
let stranger: TestCaller;
let edition = 0;

beforeAll(async () => {
  around = await startSurroundings();
  stranger = await makeCaller(around.pool, around.api.url);
});
afterAll(() => around.stop());

async function makeScene(body: Record<string, unknown> = {}) {
  const by = await makeCaller(around.pool, around.api.url);
  const list = await insertList(around.pool, by);
  const made = await by.request(webhooks, { method: 'POST', json: { url: publicUrl, ...body } });
  const { id, secreto } = createdWebhookAnswer.parse(await made.json()).data;
  await around.pool.query("UPDATE webhook SET created_at = '2026-01-01' WHERE id = $1", [id]);
  const path = `${webhooks}/${id}`;
  return {
    by,
    id,
    path,
    secreto,
    list,
    announce: async (...rucs: string[]) => {
      edition += 1;
      await writeChanges(around.pool, by, { list, edition, rucs, detectedAt: at });
    },
    post: (target: string, json?: unknown) =>
      by.request(target, { method: 'POST', ...(json === undefined ? {} : { json }) }),
    read: async () => webhookAnswer.parse(await (await by.request(path)).json()).data,
    deliveries: async (query = '') =>
      deliveriesAnswer.parse(await (await by.request(`${path}/entregas?${query}`)).json()),
    delivery: async (entrega: string) =>
      deliveryAnswer.parse(await (await by.request(`${entregas}/${entrega}`)).json()).data,
  };
}

interface Outcome {
  success: boolean;
  retryInMs?: number | null;
  response?: string;
  responseCut?: boolean;
}

/** Claims everything that is due, as a worker does, and records results without sending. */
async function work(webhook: string, outcome: Outcome) {
  const { deliveries } = await claimDeliveries(around.pool, webhook, claimLimits, () => 50);
  await recordResults(
    around.pool,
    webhook,
    deliveries.map((delivery) => ({
      ...delivery,
      durationMs: 12,
      success: outcome.success,
      httpStatus: outcome.success ? 204 : 503,
      failure: outcome.success ? null : 'estado_http',
      response: Buffer.from(outcome.response ?? ''),
      responseCut: outcome.responseCut ?? false,
      retryInMs: outcome.retryInMs ?? null,
    })),
  );
  return deliveries;
}

describe('changing a webhook', () => {
  test('each field changes alone, null means all again, and another URL is another endpoint', async () => {
    const { by, id, path, list, read } = await makeScene({ descripcion: 'ERP', eventos: ['ruc.baja'] });
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
    const { by, path } = await makeScene();
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
    const { by, id, path, post, secreto } = await makeScene();
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
    const { id, path, post } = await makeScene();
    await Promise.all([post(`${path}/secreto`), post(`${path}/secreto`)]);
    const { rows } = await around.pool.query('SELECT number FROM webhook_secret WHERE webhook_id = $1 ORDER BY 1', [
      id,
    ]);
    expect(rows.map(({ number }) => number)).toEqual([1, 2, 3]);
  });
});

describe('a test of the endpoint', () => {
  test('is claimed while the webhook is paused, tried once, and neither in the history nor counted as pending', async () => {
    const { by, id, path, post, announce, read, delivery } = await makeScene();
    await announce(ruc);
    await post(`${path}/pausar`);
    const response = await post(`${path}/prueba`);
    expect(response.status).toBe(202);
    const { entrega } = testAnswer.parse(await response.json()).data;
    expect(await read()).toMatchObject({ estado: 'pausado', pendientes: 1 });
    const claimed = await work(id, { success: false, response: 'no hoy' });
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
    expect((await work(id, { success: true })).map(({ event }) => event)).toEqual(['ruc.estado_cambiado']);
  });

  test('is not held by a pause, checks the URL again, and is unknown to another account', async () => {
    const { id, path, post } = await makeScene();
    await post(`${path}/prueba`);
    await post(`${path}/pausar`);
    expect(await work(id, { success: true })).toHaveLength(1);
    await around.pool.query("UPDATE webhook SET url = 'https://127.0.0.1/' WHERE id = $1", [id]);
    await expectProblem(await post(`${path}/prueba`), 'url_no_permitida');
    await expectProblem(await stranger.request(`${path}/prueba`, { method: 'POST' }), 'recurso_no_encontrado');
  });
});

describe('deliveries', () => {
  test('are listed newest first by page, state and time, and attempts show what the receiver answered', async () => {
    const { by, id, path, announce, deliveries, delivery } = await makeScene();
    const rucs = Array.from({ length: 7 }, (_, index) => `2070000010${index}`);
    for (const each of rucs) await announce(each);
    await work(id, { success: false, retryInMs: 60_000, response: 'x'.repeat(16_384), responseCut: true });
    const { data } = await deliveries();
    expect(data).toHaveLength(7);
    expect(data[0]).toMatchObject({ evento: 'ruc.estado_cambiado', estado: 'pendiente', intentos: 1 });
    expect(Date.parse(data[0]!.proximo_intento_en!)).toBeGreaterThan(Date.now() + 50_000);
    // Deliveries of one transaction have the same time. Pages must neither skip nor repeat them.
    await around.pool.query(
      "UPDATE delivery SET created_at = '2026-11-26T12:00:00.123456Z' WHERE webhook_id = $1 AND id = ANY($2)",
      [id, data.slice(2, 6).map((each) => each.id)],
    );
    const seen: string[] = [];
    let cursor = '';
    do {
      const page = await deliveries(`limite=2${cursor === '' ? '' : `&cursor=${cursor}`}`);
      seen.push(...page.data.map((each) => each.id));
      cursor = page.meta.cursor ?? '';
    } while (cursor !== '');
    expect(seen.toSorted()).toEqual(data.map((each) => each.id).toSorted());
    expect((await deliveries('estado=entregada')).data).toEqual([]);
    expect((await deliveries('estado=pendiente&limite=500')).data).toHaveLength(7);
    expect((await deliveries('hasta=2026-11-26T12:00:00.123Z')).data).toHaveLength(4);
    expect((await deliveries('desde=2026-11-26&hasta=2026-11-26')).data).toHaveLength(4);
    expect((await deliveries('hasta=2026-11-25')).data).toEqual([]);
    const { historial_intentos, ...shown } = await delivery(data[0]!.id);
    expect(shown).toEqual(data[0]);
    expect(historial_intentos).toEqual([
      {
        numero: 1,
        inicio: expect.stringMatching(/-05:00$/),
        duracion_ms: 12,
        estado_http: 503,
        fallo: 'estado_http',
        respuesta: 'x'.repeat(16_384),
        respuesta_cortada: true,
      },
    ]);
    for (const query of ['estado=perdida', 'limite=501', 'cursor=x', 'desde=ayer'])
      await expectProblem(await by.request(`${path}/entregas?${query}`), 'parametro_invalido');
    for (const target of [`${path}/entregas`, `${entregas}/${data[0]!.id}`])
      await expectProblem(await stranger.request(target), 'recurso_no_encontrado');
    await expectProblem(
      await stranger.request(`${entregas}/${data[0]!.id}/reenviar`, { method: 'POST' }),
      'recurso_no_encontrado',
    );
    await expectProblem(await by.request(`${entregas}/en_nada`), 'recurso_no_encontrado');
  });

  test('an id of an earlier release, without a day, is found; an id that was never issued is not', async () => {
    const { by, id, announce, deliveries, delivery, post } = await makeScene();
    await announce(ruc);
    const [made] = (await deliveries()).data;
    expect(made!.id).toMatch(/^en_261126_[A-Za-z0-9_-]{22}$/);
    const digest = made!.id.slice(-22);
    for (const wrong of ['261127', '990101', '260230', '269999', '000000']) {
      const target = `${entregas}/en_${wrong}_${digest}`;
      const { instance } = await expectProblem(await by.request(target), 'recurso_no_encontrado');
      expect(instance).toBe(target);
      await expectProblem(await post(`${target}/reenviar`), 'recurso_no_encontrado');
    }
    await around.pool.query('UPDATE delivery SET id = $2 WHERE webhook_id = $1', [id, `en_${digest}`]);
    expect(await delivery(`en_${digest}`)).toEqual({ ...made, id: `en_${digest}`, historial_intentos: [] });
    expect((await post(`${entregas}/en_${digest}/reenviar`)).status).toBe(202);
    await expectProblem(await stranger.request(`${entregas}/en_${digest}`), 'recurso_no_encontrado');
  });

  test('an attempt in flight has no outcome; that of a dead worker is unknown', async () => {
    const { id, announce, deliveries, delivery } = await makeScene();
    await announce(ruc);
    await claimDeliveries(around.pool, id, claimLimits, () => 1);
    const { id: entrega } = (await deliveries()).data[0]!;
    expect((await delivery(entrega)).historial_intentos).toMatchObject([{ fallo: null, duracion_ms: null }]);
    await around.pool.query('UPDATE delivery SET lease_until = now(), next_due_at = now() WHERE webhook_id = $1', [id]);
    expect((await delivery(entrega)).historial_intentos).toMatchObject([{ fallo: 'resultado_desconocido' }]);
  });
});

describe('sending again', () => {
  const resend = async (post: (target: string) => Promise<Response>, entrega: string) => {
    const response = await post(`${entregas}/${entrega}/reenviar`);
    expect(response.status).toBe(202);
    return resentAnswer.parse(await response.json()).data;
  };

  // outpost#670
  test('two resends, each after the previous attempt failed, make two more attempts of the same delivery', async () => {
    const { id, announce, deliveries, delivery, post } = await makeScene();
    await announce(ruc);
    await work(id, { success: false });
    const { id: entrega } = (await deliveries()).data[0]!;
    for (const attempt of [2, 3]) {
      expect(await resend(post, entrega)).toEqual({ id: entrega, estado: 'pendiente' });
      // A second resend before the attempt leaves makes no further attempt.
      await resend(post, entrega);
      expect(await work(id, { success: false })).toMatchObject([{ id: entrega, attempt, failuresOfCycle: 0 }]);
      expect(await work(id, { success: false })).toEqual([]);
    }
    expect((await delivery(entrega)).historial_intentos).toHaveLength(3);
  });

  test('it replaces the pending retry, and a success ends both', async () => {
    const { id, announce, deliveries, post } = await makeScene();
    await announce(ruc);
    await work(id, { success: false, retryInMs: 3_600_000 });
    const { id: entrega } = (await deliveries()).data[0]!;
    await resend(post, entrega);
    expect(await work(id, { success: true })).toMatchObject([{ id: entrega, failuresOfCycle: 1 }]);
    expect((await deliveries()).data).toMatchObject([{ estado: 'entregada', proximo_intento_en: null }]);
    // A delivered one may be sent again.
    await resend(post, entrega);
    expect(await work(id, { success: true })).toMatchObject([{ id: entrega, attempt: 3 }]);
  });

  test('a delivery in flight is not sent twice at once', async () => {
    const { id, announce, deliveries, post } = await makeScene();
    await announce(ruc);
    await claimDeliveries(around.pool, id, claimLimits, () => 1);
    const { id: entrega } = (await deliveries()).data[0]!;
    expect(await resend(post, entrega)).toEqual({ id: entrega, estado: 'en_curso' });
    expect(await work(id, { success: true })).toEqual([]);
  });

  // convoy#1092
  test('for a paused webhook it is held, and can be discarded and sent again after the resume', async () => {
    const { id, path, announce, deliveries, post } = await makeScene();
    await announce(ruc);
    await work(id, { success: false });
    const { id: entrega } = (await deliveries()).data[0]!;
    await post(`${path}/pausar`);
    expect(await resend(post, entrega)).toEqual({ id: entrega, estado: 'retenida' });
    expect(await work(id, { success: true })).toEqual([]);
    await post(`${path}/reanudar`, { pendientes: 'ninguno' });
    expect((await deliveries()).data).toMatchObject([{ estado: 'descartada' }]);
    await resend(post, entrega);
    expect(await work(id, { success: true })).toMatchObject([{ id: entrega }]);
  });

  // Otherwise wrong data would arrive last: its correction was sent before, or never if the original was not attempted.
  test('a delivery that a correction revoked is not sent again; a recovery omits and counts it', async () => {
    const { id, list, path, by, announce, deliveries, post } = await makeScene();
    const [attempted, unsent] = [ruc, '20990000027'];
    await announce(attempted);
    await work(id, { success: true });
    const wrongs = [edition];
    await announce(unsent);
    wrongs.push(edition);
    for (const [index, wrong] of wrongs.entries()) {
      edition += 1;
      const day = limaDay(at);
      const rucs = [[attempted, unsent][index]!];
      await makeWatchRows(around.pool).edition(edition, day, at, { corrects: wrong });
      const takenBack = { register: 'padron_reducido', edition: wrong, day, by: edition, rucs } as const;
      await writeChanges(around.pool, by, { list, edition, rucs, detectedAt: at }, takenBack);
    }
    const { data } = await deliveries();
    expect(data.map(({ estado }) => estado)).toEqual(['pendiente', 'cancelada', 'entregada']);
    const [correction, ...takenBack] = data;
    for (const [index, { id: entrega }] of takenBack.toReversed().entries()) {
      const { detail, errors } = await expectProblem(
        await post(`${entregas}/${entrega}/reenviar`),
        'parametro_invalido',
      );
      expect(detail).toContain(`la edición ${edition - 1 + index} (2026-11-26) corrigió lo que dice`);
      expect(errors).toMatchObject([{ campo: 'entrega' }]);
    }
    expect(await work(id, { success: true })).toMatchObject([{ id: correction!.id }]);

    const asked = await post(`${path}/recuperaciones`, { desde: '2026-01-01T00:00:00Z', estados: ['entregada'] });
    const { id: recovery, total } = createdRecoveryAnswer.parse(await asked.json()).data;
    expect(total).toBe(2);
    const shown = async () =>
      recoveryAnswer.parse(await (await by.request(`${path}/recuperaciones/${recovery}`)).json()).data;
    await expect.poll(async () => (await shown()).estado, { timeout: 20_000 }).toBe('terminada');
    expect(await shown()).toMatchObject({ total: 2, reenviadas: 1, omitidas: 1 });
    expect(await work(id, { success: true })).toMatchObject([{ id: correction!.id }]);
    expect(await resend(post, correction!.id)).toEqual({ id: correction!.id, estado: 'pendiente' });
  });

  test('a cancelled delivery stays cancelled', async () => {
    const { id, announce, deliveries, post } = await makeScene();
    await announce(ruc);
    const { id: entrega } = (await deliveries()).data[0]!;
    await around.pool.query("UPDATE delivery SET estado = 'cancelada', next_due_at = NULL WHERE webhook_id = $1", [id]);
    await expectProblem(await post(`${entregas}/${entrega}/reenviar`), 'parametro_invalido');
  });
});

describe('recoveries', () => {
  const desde = '2026-01-01T00:00:00Z';

  test('a recovery counts first, makes each failed delivery due once and no pending one, and shows its progress', async () => {
    const { by, id, path, announce, deliveries, post } = await makeScene();
    const rucs = Array.from({ length: 120 }, (_, index) => `207000${String(index).padStart(5, '0')}`);
    await announce(...rucs);
    for (let left = true; left; ) left = (await work(id, { success: false })).length > 0;
    await announce('20990000027');
    await work(id, { success: false, retryInMs: 3_600_000 });
    const dry = await post(`${path}/recuperaciones`, { desde, simular: true });
    expect(dry.status).toBe(202);
    expect(createdRecoveryAnswer.parse(await dry.json()).data.total).toBe(120);
    expect((await deliveries('estado=agotada&limite=500')).data).toHaveLength(120);

    const response = await post(`${path}/recuperaciones`, { desde });
    expect(response.status).toBe(202);
    const { id: recovery, total } = createdRecoveryAnswer.parse(await response.json()).data;
    expect(total).toBe(120);
    const target = `${path}/recuperaciones/${recovery}`;
    expect(response.headers.get('location')).toBe(target);
    const progress = async () => recoveryAnswer.parse(await (await by.request(target)).json()).data;
    await expect.poll(async () => (await progress()).estado, { timeout: 10_000 }).toBe('terminada');
    expect(await progress()).toMatchObject({
      total: 120,
      reenviadas: 120,
      omitidas: 0,
      estados: ['agotada', 'descartada'],
    });
    const sent: string[] = [];
    for (let some = await work(id, { success: true }); some.length > 0; some = await work(id, { success: true }))
      sent.push(...some.map((each) => each.id));
    expect(sent).toHaveLength(120);
    expect(new Set(sent).size).toBe(120);
    await expectProblem(await stranger.request(target), 'recurso_no_encontrado');
    expect((await by.request(target, { method: 'DELETE' })).status).toBe(204);
    expect((await progress()).estado).toBe('terminada');
  });

  test('a paused webhook holds recovered deliveries; deleting it cancels them', async () => {
    const { by, id, path, announce, deliveries, post } = await makeScene();
    await announce(ruc, '20990000027');
    await work(id, { success: true });
    await post(`${path}/pausar`);
    await post(`${path}/recuperaciones`, { desde, estados: ['entregada'] });
    await expect.poll(async () => (await deliveries('estado=retenida')).data.length, { timeout: 5_000 }).toBe(2);
    await insertRunning(id);
    await by.request(path, { method: 'DELETE' });
    await expect
      .poll(
        async () => (await around.pool.query('SELECT estado FROM recovery WHERE id = $1', [`r-${id}`])).rows[0].estado,
        { timeout: 15_000 },
      )
      .toBe('cancelada');
  });

  /** A recovery that the running API starts some seconds from now, so that its webhook can be deleted before. */
  async function insertRunning(webhook: string): Promise<void> {
    await around.pool.query(
      `INSERT INTO recovery (id, webhook_id, from_at, until_at, states, estado, total, next_at)
       VALUES ($1, $2, $3, now(), '{agotada}', 'en_curso', 0, now() + interval '4 seconds')`,
      [`r-${webhook}`, webhook, desde],
    );
  }

  test('a bound without a fraction includes the whole second, as times are shown', async () => {
    const { id, path, announce, deliveries, post } = await makeScene();
    await announce(ruc);
    await work(id, { success: false });
    await around.pool.query("UPDATE delivery SET created_at = '2026-11-26T12:00:00.999999Z' WHERE webhook_id = $1", [
      id,
    ]);
    const shown = (await deliveries()).data[0]!.creada_en;
    const found = async (bounds: Record<string, string>) => {
      const answer = await post(`${path}/recuperaciones`, { simular: true, ...bounds });
      return createdRecoveryAnswer.parse(await answer.json()).data.total;
    };
    expect(await found({ desde: shown, hasta: shown })).toBe(1);
    expect(await found({ desde, hasta: '2026-11-26T12:00:00.999Z' })).toBe(1);
    expect(await found({ desde, hasta: '2026-11-26T12:00:00.998Z' })).toBe(0);
    expect(await found({ desde: '2026-11-26T12:00:01Z' })).toBe(0);
  });

  test('what became pending after the count is made due too, so none is left out', async () => {
    const { by, id, path, announce } = await makeScene();
    await announce(ruc, '20990000027');
    await work(id, { success: false, retryInMs: 3_600_000 });
    const recovery = `r-${id}`;
    // The count runs while one of the two is held.
    await around.pool.query(
      `INSERT INTO recovery (id, webhook_id, from_at, until_at, states, estado, total)
       VALUES ($1, $2, $3, now(), '{pendiente}', 'en_curso', 1)`,
      [recovery, id, desde],
    );
    const progress = async () => {
      const answer = await by.request(`${path}/recuperaciones/${recovery}`);
      return recoveryAnswer.parse(await answer.json()).data;
    };
    await expect.poll(async () => (await progress()).estado, { timeout: 10_000 }).toBe('terminada');
    expect(await progress()).toMatchObject({ total: 1, reenviadas: 2, omitidas: 0 });
  });

  test('a cancelled recovery makes nothing more due', async () => {
    const { by, id, path, announce, deliveries } = await makeScene();
    await announce(ruc);
    await work(id, { success: false });
    const recovery = `r-${id}`;
    await around.pool.query(
      `INSERT INTO recovery (id, webhook_id, from_at, until_at, states, estado, total, next_at)
       VALUES ($1, $2, $3, now(), '{agotada}', 'en_curso', 1, now() + interval '1 hour')`,
      [recovery, id, desde],
    );
    const target = `${path}/recuperaciones/${recovery}`;
    expect((await by.request(target, { method: 'DELETE' })).status).toBe(204);
    await around.pool.query('UPDATE recovery SET next_at = now() WHERE id = $1', [recovery]);
    expect(await advanceRecovery(around.pool, defaultRecoveryLimits)).toBeNull();
    const shown = recoveryAnswer.parse(await (await by.request(target)).json()).data;
    expect(shown).toMatchObject({ estado: 'cancelada', total: 1, reenviadas: 0, omitidas: null });
    expect((await deliveries()).data).toMatchObject([{ estado: 'agotada' }]);
  });

  test('impossible requests are refused, and at most five recoveries run at a time', async () => {
    const { by, id, path, post } = await makeScene();
    const recover = (json: unknown) => post(`${path}/recuperaciones`, json);
    for (const wrong of [
      {},
      { desde: '2026-01-01' },
      { desde, estados: [] },
      { desde, estados: ['retenida'] },
      { desde, hasta: '2025-01-01T00:00:00Z' },
    ])
      await expectProblem(await recover(wrong), 'parametro_invalido');
    await expectProblem(await by.request(`${path}/recuperaciones/re_nada`), 'recurso_no_encontrado');
    await around.pool.query(
      `INSERT INTO recovery (id, webhook_id, from_at, until_at, states, estado, total, next_at)
       SELECT 'r-' || $1 || n, $1, now(), now(), '{agotada}', 'en_curso', 0, now() + interval '1 hour' FROM generate_series(1, 5) n`,
      [id],
    );
    await expectProblem(await recover({ desde }), 'limite_excedido');
    expect((await recover({ desde, simular: true })).status).toBe(202);
  });
});

test('owner notices are listed newest first, for the own account only', async () => {
  const { by, id, path, post } = await makeScene();
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
  const { by, path, list, announce, deliveries } = await makeScene();
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
