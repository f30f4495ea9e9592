import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { setPlan } from '../../../api/operators/customers.ts';
import { listAnswer, membersAddedAnswer } from '../../../schemas/http/lists.ts';
import { createdWebhookAnswer, noticesAnswer, webhookAnswer } from '../../../schemas/http/webhooks.ts';
import { expectProblem, makeCaller, requestsOf, type TestCaller } from '../../support/api/process.ts';
import { type Surroundings, startSurroundings } from '../../support/api/surroundings.ts';
import { insertList, writeChanges } from '../../support/watch/events.ts';

/** Who acts in these tests. */
const operator = { name: 'prueba', way: 'command' } as const;

// Probes the contract of the watch routes for gaps.
const watch = '/id/v1/watch';
const publicUrl = 'https://93.184.216.34/avisos';
const ruc = '20990000019';
let around: Surroundings;
let caller: TestCaller;
let list: number;
let webhook: string;

beforeAll(async () => {
  around = await startSurroundings();
  caller = await makeCaller(around.pool, around.api.url);
  const made = await post(`${watch}/listas`, { nombre: 'Proveedores' });
  list = listAnswer.parse(await made.json()).data.id;
  webhook = (await makeWebhook()).id;
});
afterAll(() => around.stop());

const post = (target: string, json?: unknown) =>
  caller.request(target, { method: 'POST', ...(json === undefined ? {} : { json }) });
const patch = (target: string, json: unknown) => caller.request(target, { method: 'PATCH', json });

async function makeWebhook(body: Record<string, unknown> = {}) {
  const response = await post(`${watch}/webhooks`, { url: publicUrl, ...body });
  expect(response.status).toBe(201);
  return createdWebhookAnswer.parse(await response.json()).data;
}

describe('text that PostgreSQL cannot hold is refused, never an error of the service', () => {
  const text = 'a\u0000b';
  test('in bodies', async () => {
    for (const json of [{ nombre: text }, { nombre: 'x', referencia: text }])
      await expectProblem(await post(`${watch}/listas`, json), 'parametro_invalido');
    for (const json of [{ nombre: text }, { referencia: text }])
      await expectProblem(await patch(`${watch}/listas/${list}`, json), 'parametro_invalido');
    await expectProblem(await post(`${watch}/webhooks`, { url: publicUrl, descripcion: text }), 'parametro_invalido');
    await expectProblem(await patch(`${watch}/webhooks/${webhook}`, { descripcion: text }), 'parametro_invalido');
    await expectProblem(await post(`${watch}/webhooks`, { url: `https://93.184.216.34/${text}` }), 'url_no_permitida');
    const added = await post(`${watch}/listas/${list}/rucs`, { rucs: [text, ruc] });
    expect(membersAddedAnswer.parse(await added.json()).data.rechazados).toEqual([
      { ruc: text, codigo: 'ruc_formato' },
    ]);
  });

  test('in addresses: nothing has that name', async () => {
    for (const target of ['webhooks/%00', 'webhooks/%00/entregas', 'entregas/%00', 'webhooks/wh_%00x'])
      await expectProblem(await caller.request(`${watch}/${target}`), 'recurso_no_encontrado');
    for (const target of ['webhooks/%00/pausar', 'webhooks/%00/prueba', 'entregas/%00/reenviar'])
      await expectProblem(await post(`${watch}/${target}`), 'recurso_no_encontrado');
    await expectProblem(
      await caller.request(`${watch}/webhooks/${webhook}/recuperaciones/%00`),
      'recurso_no_encontrado',
    );
    for (const target of ['webhooks/%00', 'listas/%00', `webhooks/${webhook}/recuperaciones/%00`])
      await expectProblem(await caller.request(`${watch}/${target}`, { method: 'DELETE' }), 'recurso_no_encontrado');
  });
});

test('every answer forbids caching, also one without a body', async () => {
  const made = await makeWebhook();
  const answers = [
    await caller.request(`${watch}/webhooks/${made.id}`),
    await caller.request(`${watch}/webhooks/${made.id}`, { method: 'DELETE' }),
    await caller.request(`${watch}/listas/${list}/rucs/${ruc}`, { method: 'DELETE' }),
  ];
  expect(answers.map(({ status }) => status)).toEqual([200, 204, 204]);
  for (const answer of answers) expect(answer.headers.get('cache-control')).toBe('no-store');
});

test('reading routes answer HEAD without a body; other methods are refused with the allowed ones', async () => {
  for (const target of [
    'listas',
    `listas/${list}`,
    `listas/${list}/rucs`,
    'webhooks',
    `webhooks/${webhook}`,
    'avisos',
  ]) {
    const head = await caller.request(`${watch}/${target}`, { method: 'HEAD' });
    expect([head.status, await head.text()], target).toEqual([200, '']);
  }
  const refused = await caller.request(`${watch}/webhooks/${webhook}`, { method: 'PUT' });
  expect(refused.headers.get('allow')).toContain('PATCH');
  await expectProblem(refused, 'metodo_no_permitido');
});

test('neither the sandbox token nor a missing token opens anything', async () => {
  const sandbox = requestsOf(around.api.url, 'pad_sandbox_publico');
  for (const target of ['listas', 'webhooks', 'eventos', 'eventos/stream', 'avisos', 'entregas/en_1']) {
    await expectProblem(await sandbox(`${watch}/${target}`), 'token_sandbox');
    await expectProblem(await requestsOf(around.api.url, null)(`${watch}/${target}`), 'sin_token');
  }
});

test('actions on a webhook take their own fields only; resuming an active one discards nothing', async () => {
  const { id } = await makeWebhook();
  for (const action of ['pausar', 'reanudar', 'prueba', 'secreto']) {
    await expectProblem(await post(`${watch}/webhooks/${id}/${action}`, { otro: 1 }), 'parametro_desconocido');
    await expectProblem(await post(`${watch}/webhooks/${id}/${action}?x=1`), 'parametro_desconocido');
  }
  await around.pool.query("SELECT ensure_event_day('2026-11-26')");
  await around.pool.query(
    `INSERT INTO delivery (day, id, event_id, webhook_id, account_id, ruc, position, next_due_at)
     VALUES ('2026-11-26', 'en_activo', 'ev', $1, $2, $3, 1, now())`,
    [id, caller.accountId, ruc],
  );
  const resumed = await post(`${watch}/webhooks/${id}/reanudar`, { pendientes: 'ninguno' });
  expect(webhookAnswer.parse(await resumed.json()).data).toMatchObject({ estado: 'activo', pendientes: 1 });
});

test('fields of the wrong form are refused', async () => {
  const lists = `${watch}/listas`;
  for (const json of [{ nombre: 'x'.repeat(201) }, { nombre: 'x', referencia: 7 }, { referencia: 'sin nombre' }, []])
    await expectProblem(await post(lists, json), 'parametro_invalido');
  for (const json of [{ nombre: null }, { nombre: '' }])
    await expectProblem(await patch(`${lists}/${list}`, json), 'parametro_invalido');
  for (const json of [
    {},
    { url: 7 },
    { url: '' },
    { url: publicUrl, listas: ['1'] },
    { url: publicUrl, listas: [1.5] },
  ])
    await expectProblem(await post(`${watch}/webhooks`, json), 'parametro_invalido');
  await expectProblem(await post(`${watch}/webhooks`, { url: publicUrl, listas: [-1] }), 'recurso_no_encontrado');
  for (const query of ['hasta=2026-13-01', 'desde=2026-11-26T10:00:00', 'lista=-1', 'cursor=', 'ruc='])
    await expectProblem(await caller.request(`${watch}/eventos?${query}`), 'parametro_invalido');
});

test('distant times are read or refused, never an error of the service', async () => {
  const far = [
    ...['0000-01-01', '0001-01-01', '1899-12-31', '9999-12-31', '0000-01-01T00:00:00Z', '1900-01-01T00:00:00Z'],
    ...['9999-12-30T23:59:59.999Z', '9999-12-31T23:59:59-23:59', '2026-11-26T10:00:00.123456789Z', '2026-11-26T10:00Z'],
  ];
  for (const target of ['eventos', `webhooks/${webhook}/entregas`])
    for (const time of far)
      for (const name of ['desde', 'hasta']) {
        const { status } = await caller.request(`${watch}/${target}?${name}=${encodeURIComponent(time)}`);
        expect([200, 400], `${target} ${name} ${time}`).toContain(status);
      }
  for (const time of far) {
    const resumed = await post(`${watch}/webhooks/${webhook}/reanudar`, { pendientes: { desde: time } });
    expect([200, 400], time).toContain(resumed.status);
    const recovered = await post(`${watch}/webhooks/${webhook}/recuperaciones`, { desde: time, simular: true });
    expect([202, 400], time).toContain(recovered.status);
  }
  expect((await caller.request(`${watch}/eventos?hasta=9999-12-31`)).status).toBe(200);
});

test('a time includes the events of its whole second, in both bounds', async () => {
  const by = await makeCaller(around.pool, around.api.url);
  const own = await insertList(around.pool, by);
  const detectedAt = new Date('2026-11-26T12:00:00.250Z');
  await writeChanges(around.pool, by, { list: own, edition: 1, rucs: [ruc], detectedAt });
  const read = async (query: string) => {
    const answer = await by.request(`${watch}/eventos?${query}`);
    return ((await answer.json()) as { data: { ocurrido_en: string }[] }).data;
  };
  const shown = encodeURIComponent((await read(''))[0]!.ocurrido_en);
  expect(await read(`desde=${shown}&hasta=${shown}`)).toHaveLength(1);
  expect(await read('hasta=2026-11-26T12:00:00.249Z')).toEqual([]);
  expect(await read('desde=2026-11-26T12:00:00.251Z')).toEqual([]);
});

test('another account’s list as a filter shows nothing of it', async () => {
  const other = await makeCaller(around.pool, around.api.url);
  const foreign = await insertList(around.pool, other);
  await writeChanges(around.pool, other, { list: foreign, edition: 1, rucs: [ruc], detectedAt: new Date() });
  const answer = await caller.request(`${watch}/eventos?lista=${foreign}`);
  expect(await answer.json()).toMatchObject({ success: true, data: [], meta: { hay_mas: false } });
});

test('an account over its limit sees how many RUCs it would watch', async () => {
  const by = await makeCaller(around.pool, around.api.url);
  const [one, two] = [await insertList(around.pool, by), await insertList(around.pool, by)];
  await around.pool.query(
    `INSERT INTO watch_member (list_id, ruc) SELECT $1, '20' || lpad(n::text, 9, '0') FROM generate_series(1, 100000) n`,
    [one],
  );
  // One of the two is already in the other list.
  const add = (rucs: string[]) => by.request(`${watch}/listas/${two}/rucs`, { method: 'POST', json: { rucs } });
  const problem = await expectProblem(await add(['20000000001', ruc]), 'limite_excedido');
  expect(problem.detail).toContain('100,001');
});

test('a plan that no longer includes watching is shown as the cause of the pause', async () => {
  const by = await makeCaller(around.pool, around.api.url);
  await insertList(around.pool, by);
  await by.request(`${watch}/webhooks`, { method: 'POST', json: { url: publicUrl } });
  await setPlan(around.pool, operator, by.accountId, 'micro', null);
  const notices = noticesAnswer.parse(await (await by.request(`${watch}/avisos`)).json());
  expect(notices.data).toMatchObject([{ aviso: 'webhook.pausado', detalle: { causa: 'plan' } }]);
});
