import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { claimDeliveries } from '../../../pipelines/webhooks/claim.ts';
import { createdRecoveryAnswer, recoveryAnswer, resentAnswer } from '../../../schemas/http/deliveries.ts';
import { limaDay } from '../../../schemas/lima-time.ts';
import { expectProblem, makeCaller, type TestCaller } from '../../support/api/process.ts';
import { type Surroundings, startSurroundings } from '../../support/api/surroundings.ts';
import { at, claimLimits, entregas, makeScene, nextEdition, ruc, work } from '../../support/api/webhook-scene.ts';
import { writeChanges } from '../../support/watch/events.ts';
import { makeWatchRows } from '../../support/watch/harness.ts';

let around: Surroundings;
let stranger: TestCaller;

beforeAll(async () => {
  around = await startSurroundings();
  stranger = await makeCaller(around.pool, around.api.url);
});
afterAll(() => around.stop());

describe('deliveries', () => {
  test('are listed newest first by page, state and time, and attempts show what the receiver answered', async () => {
    const { by, id, path, announce, deliveries, delivery } = await makeScene(around);
    const rucs = Array.from({ length: 7 }, (_, index) => `2070000010${index}`);
    for (const each of rucs) await announce(each);
    await work(around, id, { success: false, retryInMs: 60_000, response: 'x'.repeat(16_384), responseCut: true });
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
    const { by, id, announce, deliveries, delivery, post } = await makeScene(around);
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
    const { id, announce, deliveries, delivery } = await makeScene(around);
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
    const { id, announce, deliveries, delivery, post } = await makeScene(around);
    await announce(ruc);
    await work(around, id, { success: false });
    const { id: entrega } = (await deliveries()).data[0]!;
    for (const attempt of [2, 3]) {
      expect(await resend(post, entrega)).toEqual({ id: entrega, estado: 'pendiente' });
      // A second resend before the attempt leaves makes no further attempt.
      await resend(post, entrega);
      expect(await work(around, id, { success: false })).toMatchObject([{ id: entrega, attempt, failuresOfCycle: 0 }]);
      expect(await work(around, id, { success: false })).toEqual([]);
    }
    expect((await delivery(entrega)).historial_intentos).toHaveLength(3);
  });

  test('it replaces the pending retry, and a success ends both', async () => {
    const { id, announce, deliveries, post } = await makeScene(around);
    await announce(ruc);
    await work(around, id, { success: false, retryInMs: 3_600_000 });
    const { id: entrega } = (await deliveries()).data[0]!;
    await resend(post, entrega);
    expect(await work(around, id, { success: true })).toMatchObject([{ id: entrega, failuresOfCycle: 1 }]);
    expect((await deliveries()).data).toMatchObject([{ estado: 'entregada', proximo_intento_en: null }]);
    // A delivered one may be sent again.
    await resend(post, entrega);
    expect(await work(around, id, { success: true })).toMatchObject([{ id: entrega, attempt: 3 }]);
  });

  test('a delivery in flight is not sent twice at once', async () => {
    const { id, announce, deliveries, post } = await makeScene(around);
    await announce(ruc);
    await claimDeliveries(around.pool, id, claimLimits, () => 1);
    const { id: entrega } = (await deliveries()).data[0]!;
    expect(await resend(post, entrega)).toEqual({ id: entrega, estado: 'en_curso' });
    expect(await work(around, id, { success: true })).toEqual([]);
  });

  // convoy#1092
  test('for a paused webhook it is held, and can be discarded and sent again after the resume', async () => {
    const { id, path, announce, deliveries, post } = await makeScene(around);
    await announce(ruc);
    await work(around, id, { success: false });
    const { id: entrega } = (await deliveries()).data[0]!;
    await post(`${path}/pausar`);
    expect(await resend(post, entrega)).toEqual({ id: entrega, estado: 'retenida' });
    expect(await work(around, id, { success: true })).toEqual([]);
    await post(`${path}/reanudar`, { pendientes: 'ninguno' });
    expect((await deliveries()).data).toMatchObject([{ estado: 'descartada' }]);
    await resend(post, entrega);
    expect(await work(around, id, { success: true })).toMatchObject([{ id: entrega }]);
  });

  // Otherwise wrong data would arrive last: its correction was sent before, or never if the original was not attempted.
  test('a delivery that a correction revoked is not sent again; a recovery omits and counts it', async () => {
    const { id, list, path, by, announce, deliveries, post } = await makeScene(around);
    const [attempted, unsent] = [ruc, '20990000027'];
    const wrongs = [await announce(attempted)];
    await work(around, id, { success: true });
    wrongs.push(await announce(unsent));
    let edition = 0;
    for (const [index, wrong] of wrongs.entries()) {
      edition = nextEdition();
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
    expect(await work(around, id, { success: true })).toMatchObject([{ id: correction!.id }]);

    const asked = await post(`${path}/recuperaciones`, { desde: '2026-01-01T00:00:00Z', estados: ['entregada'] });
    const { id: recovery, total } = createdRecoveryAnswer.parse(await asked.json()).data;
    expect(total).toBe(2);
    const shown = async () =>
      recoveryAnswer.parse(await (await by.request(`${path}/recuperaciones/${recovery}`)).json()).data;
    await expect.poll(async () => (await shown()).estado, { timeout: 20_000 }).toBe('terminada');
    expect(await shown()).toMatchObject({ total: 2, reenviadas: 1, omitidas: 1 });
    expect(await work(around, id, { success: true })).toMatchObject([{ id: correction!.id }]);
    expect(await resend(post, correction!.id)).toEqual({ id: correction!.id, estado: 'pendiente' });
  });

  test('a cancelled delivery stays cancelled', async () => {
    const { id, announce, deliveries, post } = await makeScene(around);
    await announce(ruc);
    const { id: entrega } = (await deliveries()).data[0]!;
    await around.pool.query("UPDATE delivery SET estado = 'cancelada', next_due_at = NULL WHERE webhook_id = $1", [id]);
    await expectProblem(await post(`${entregas}/${entrega}/reenviar`), 'parametro_invalido');
  });
});
