import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { advanceRecovery, defaultRecoveryLimits } from '../../../pipelines/webhooks/recoveries.ts';
import { createdRecoveryAnswer, recoveryAnswer } from '../../../schemas/http/deliveries.ts';
import { expectProblem, makeCaller, type TestCaller } from '../../support/api/process.ts';
import { type Surroundings, startSurroundings } from '../../support/api/surroundings.ts';
import { makeScene, ruc, work } from '../../support/api/webhook-scene.ts';

let around: Surroundings;
let stranger: TestCaller;

beforeAll(async () => {
  around = await startSurroundings();
  stranger = await makeCaller(around.pool, around.api.url);
});
afterAll(() => around.stop());

describe('recoveries', () => {
  const desde = '2026-01-01T00:00:00Z';

  test('a recovery counts first, makes each failed delivery due once and no pending one, and shows its progress', async () => {
    const { by, id, path, announce, deliveries, post } = await makeScene(around);
    const rucs = Array.from({ length: 120 }, (_, index) => `207000${String(index).padStart(5, '0')}`);
    await announce(...rucs);
    for (let left = true; left; ) left = (await work(around, id, { success: false })).length > 0;
    await announce('20990000027');
    await work(around, id, { success: false, retryInMs: 3_600_000 });
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
    for (
      let some = await work(around, id, { success: true });
      some.length > 0;
      some = await work(around, id, { success: true })
    )
      sent.push(...some.map((each) => each.id));
    expect(sent).toHaveLength(120);
    expect(new Set(sent).size).toBe(120);
    await expectProblem(await stranger.request(target), 'recurso_no_encontrado');
    expect((await by.request(target, { method: 'DELETE' })).status).toBe(204);
    expect((await progress()).estado).toBe('terminada');
  });

  test('a paused webhook holds recovered deliveries; deleting it cancels them', async () => {
    const { by, id, path, announce, deliveries, post } = await makeScene(around);
    await announce(ruc, '20990000027');
    await work(around, id, { success: true });
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
    const { id, path, announce, deliveries, post } = await makeScene(around);
    await announce(ruc);
    await work(around, id, { success: false });
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
    const { by, id, path, announce } = await makeScene(around);
    await announce(ruc, '20990000027');
    await work(around, id, { success: false, retryInMs: 3_600_000 });
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
    const { by, id, path, announce, deliveries } = await makeScene(around);
    await announce(ruc);
    await work(around, id, { success: false });
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
    const { by, id, path, post } = await makeScene(around);
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
