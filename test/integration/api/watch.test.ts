import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openSecret, parseKeyRing } from '../../../pipelines/runtime/secrets.ts';
import { listAnswer, listsAnswer, membersAddedAnswer, membersAnswer } from '../../../schemas/http/lists.ts';
import { createdWebhookAnswer, webhookAnswer, webhooksAnswer } from '../../../schemas/http/webhooks.ts';
import { checkDigit } from '../../../schemas/ruc.ts';
import { apiSecrets, expectProblem, makeCaller, type TestCaller } from '../../support/api/process.ts';
import { type Surroundings, startSurroundings } from '../../support/api/surroundings.ts';
import { insertEdition, insertTaxpayers, untilCatalogueIsRead } from '../../support/registers/served-register.ts';

const listas = '/id/v1/watch/listas';
const webhooks = '/id/v1/watch/webhooks';
const known = '20990000019';
const unknown = '20131312955';
const person = '10990000013';
// A literal public address needs no name server. Nothing is sent to it.
const publicUrl = 'https://93.184.216.34/avisos';

let around: Surroundings;
let caller: TestCaller;
let stranger: TestCaller;

beforeAll(async () => {
  around = await startSurroundings();
  caller = await makeCaller(around.pool, around.api.url);
  stranger = await makeCaller(around.pool, around.api.url);
});
afterAll(() => around.stop());

async function makeList(by: TestCaller, nombre: string): Promise<number> {
  const response = await by.request(listas, { method: 'POST', json: { nombre } });
  expect(response.status).toBe(201);
  return listAnswer.parse(await response.json()).data.id;
}

async function makeWebhook(by: TestCaller, body: Record<string, unknown> = {}) {
  const response = await by.request(webhooks, { method: 'POST', json: { url: publicUrl, ...body } });
  expect(response.status).toBe(201);
  return createdWebhookAnswer.parse(await response.json()).data;
}

describe('lists', () => {
  test('the plan is checked before the input', async () => {
    const micro = await makeCaller(around.pool, around.api.url, { plan: 'micro' });
    const problem = await expectProblem(
      await micro.request(listas, { method: 'POST', json: { x: 1 } }),
      'plan_insuficiente',
    );
    expect(problem.detail).toContain('crecimiento');
  });

  test('at most 1,000 per account, also when several are created at once; a deleted one makes room', async () => {
    const by = await makeCaller(around.pool, around.api.url);
    await around.pool.query(
      "INSERT INTO watch_list (account_id, nombre) SELECT $1, 'lista ' || n FROM generate_series(1, 997) n",
      [by.accountId],
    );
    const make = (nombre: string) => by.request(listas, { method: 'POST', json: { nombre } });
    const answers = await Promise.all(Array.from({ length: 8 }, (_, index) => make(`otra ${index}`)));
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(3);
    await expectProblem(answers.find(({ status }) => status !== 201)!, 'limite_excedido');
    const first = listsAnswer.parse(await (await by.request(`${listas}?limite=1`)).json()).data[0]!;
    expect((await by.request(`${listas}/${first.id}`, { method: 'DELETE' })).status).toBe(204);
    expect((await make('en su lugar')).status).toBe(201);
  });

  test('created, read, changed, deleted; before any edition the date is null', async () => {
    const made = await caller.request(listas, {
      method: 'POST',
      json: { nombre: ' Proveedores ', referencia: 'erp-7' },
    });
    expect(made.status).toBe(201);
    expect(made.headers.get('cache-control')).toBe('no-store');
    const { data, meta } = listAnswer.parse(await made.json());
    expect(data).toMatchObject({ nombre: 'Proveedores', referencia: 'erp-7', rucs: 0 });
    expect(meta).toEqual({ fecha_dato: null });
    const path = `${listas}/${data.id}`;
    expect(made.headers.get('location')).toBe(path);

    const again = await caller.request(listas, { method: 'POST', json: { nombre: 'Proveedores' } });
    await expectProblem(again, 'nombre_en_uso');
    const changed = await caller.request(path, { method: 'PATCH', json: { referencia: null } });
    expect(listAnswer.parse(await changed.json()).data).toMatchObject({ nombre: 'Proveedores', referencia: null });
    await expectProblem(await caller.request(path, { method: 'PATCH', json: {} }), 'parametro_invalido');
    const other = await makeList(caller, 'Clientes');
    const taken = await caller.request(`${listas}/${other}`, { method: 'PATCH', json: { nombre: 'Proveedores' } });
    await expectProblem(taken, 'nombre_en_uso');

    for (const method of ['GET', 'DELETE'])
      await expectProblem(await stranger.request(path, { method }), 'recurso_no_encontrado');
    expect((await caller.request(path, { method: 'DELETE' })).status).toBe(204);
    await expectProblem(await caller.request(path), 'recurso_no_encontrado');
    await expectProblem(await caller.request(`${listas}/no-es-numero`), 'recurso_no_encontrado');
    // The name is free again.
    await makeList(caller, 'Proveedores');
  });

  test('pages follow their cursor to the end', async () => {
    const by = await makeCaller(around.pool, around.api.url);
    for (let number = 1; number <= 5; number += 1) await makeList(by, `Lista ${number}`);
    const seen: string[] = [];
    let cursor: string | null = null;
    do {
      const query: string = cursor === null ? '' : `&cursor=${cursor}`;
      const page = listsAnswer.parse(await (await by.request(`${listas}?limite=2${query}`)).json());
      seen.push(...page.data.map((list) => list.nombre));
      cursor = page.meta.cursor;
    } while (cursor !== null);
    expect(seen).toEqual(['Lista 1', 'Lista 2', 'Lista 3', 'Lista 4', 'Lista 5']);
    for (const wrong of ['limite=0', 'limite=501', 'limite=dos', 'cursor=abc'])
      await expectProblem(await by.request(`${listas}?${wrong}`), 'parametro_invalido');
    await expectProblem(await by.request(`${listas}?limite=1&limite=2`), 'parametro_invalido');
    await expectProblem(await by.request(`${listas}?pagina=2`), 'parametro_desconocido');
  });

  test('two calls at once for one name: one list', async () => {
    const statuses = await Promise.all(
      Array.from({ length: 8 }, () => caller.request(listas, { method: 'POST', json: { nombre: 'A la vez' } })),
    );
    expect(statuses.map((response) => response.status).sort()).toEqual([201, ...Array(7).fill(409)]);
  });

  test.each([
    ['no JSON', { body: '{"nombre": ', headers: { 'content-type': 'application/json' } }, 'json_invalido'],
    ['not an object', { body: '7', headers: { 'content-type': 'application/json' } }, 'json_invalido'],
    ['no body', {}, 'json_invalido'],
    [
      'form data',
      { body: 'nombre=x', headers: { 'content-type': 'application/x-www-form-urlencoded' } },
      'tipo_no_admitido',
    ],
    ['no type', { body: new Uint8Array([123, 125]) }, 'tipo_no_admitido'],
    [
      'too large',
      { body: JSON.stringify({ nombre: 'x'.repeat(70_000) }), headers: { 'content-type': 'application/json' } },
      'cuerpo_demasiado_grande',
    ],
    ['unknown field', { json: { nombre: 'x', color: 'rojo' } }, 'parametro_desconocido'],
    ['empty name', { json: { nombre: '  ' } }, 'parametro_invalido'],
    ['name of another kind', { json: { nombre: 7 } }, 'parametro_invalido'],
  ] as const)('a body with %s', async (_, options, code) => {
    const problem = await expectProblem(await caller.request(listas, { method: 'POST', ...options }), code);
    if (code === 'parametro_desconocido') expect(problem.errors).toEqual([{ campo: 'color', mensaje: 'no se conoce' }]);
  });
});

describe('members', () => {
  let list: number;
  let path: string;

  beforeAll(async () => {
    list = await makeList(caller, 'Miembros');
    path = `${listas}/${list}/rucs`;
    // The register is not loaded yet, so whether it has a RUC is unknown.
    const early = await caller.request(path, { method: 'POST', json: { ruc: '20990000060' } });
    expect(membersAddedAnswer.parse(await early.json()).data.agregados).toEqual([
      { ruc: '20990000060', en_padron: null },
    ]);
    await insertTaxpayers(around.clickhouse, [
      { line: `${known}|COMERCIAL PRUEBA UNO S.A.C.|SUSPENSION TEMPORAL|HABIDO|150122|-|-|-|-|-|-|-|-|-|-|` },
    ]);
    await insertEdition(around.pool, { number: 1, fechaDato: '2026-11-26' });
    await untilCatalogueIsRead();
  });

  test('many at once are added, already there or refused one by one; persons are masked', async () => {
    const wrong = '20990000018';
    const rucs = [known, unknown, '20990000060', person, wrong, 'x', known];
    const response = await caller.request(path, { method: 'POST', json: { rucs } });
    expect(response.status).toBe(200);
    const { data, meta } = membersAddedAnswer.parse(await response.json());
    expect(meta.fecha_dato).toBe('2026-11-26');
    expect(data).toEqual({
      agregados: [
        { ruc: known, en_padron: true },
        { ruc: unknown, en_padron: false },
      ],
      ya_estaban: ['20990000060'],
      rechazados: [
        { ruc: '10*******13', codigo: 'solo_empresas' },
        { ruc: wrong, codigo: 'ruc_digito_verificador' },
        { ruc: 'x', codigo: 'ruc_formato' },
      ],
    });
    const shown = listAnswer.parse(await (await caller.request(`${listas}/${list}`)).json());
    expect(shown.data.rucs).toBe(3);
  });

  test('a single RUC is refused as a whole', async () => {
    const single = (ruc: unknown) => caller.request(path, { method: 'POST', json: { ruc } });
    const problem = await expectProblem(await single(person), 'solo_empresas');
    expect(JSON.stringify(problem)).not.toContain('99000001');
    await expectProblem(await single('20990000018'), 'ruc_digito_verificador');
    await expectProblem(await single('2099'), 'ruc_formato');
    await expectProblem(await single(20990000019), 'parametro_invalido');
    const post = (json: unknown) => caller.request(path, { method: 'POST', json });
    await expectProblem(await post({ rucs: [] }), 'parametro_invalido');
    await expectProblem(await post({ ruc: known, rucs: [known] }), 'parametro_desconocido');
    await expectProblem(
      await stranger.request(path, { method: 'POST', json: { ruc: known } }),
      'recurso_no_encontrado',
    );
  });

  test('1,000 entries in one request are read, one more is refused before any is checked', async () => {
    const full = await makeList(caller, 'Mil de una vez');
    const post = (rucs: unknown[]) => caller.request(`${listas}/${full}/rucs`, { method: 'POST', json: { rucs } });
    expect((await post(Array(1_000).fill(known))).status).toBe(200);
    for (const entry of [known, 1]) {
      const problem = await expectProblem(await post(Array(1_001).fill(entry)), 'limite_excedido');
      expect(problem.detail).toBe('rucs admite hasta 1,000 elementos por petición; se recibieron 1,001.');
      expect(problem.errors).toEqual([{ campo: 'rucs', mensaje: 'admite hasta 1,000 elementos por petición' }]);
    }
    const { data } = listAnswer.parse(await (await caller.request(`${listas}/${full}`)).json());
    expect(data.rucs).toBe(1);
  });

  test('pages show estado and condicion as display texts; removing is repeatable', async () => {
    const first = membersAnswer.parse(await (await caller.request(`${path}?limite=2`)).json());
    const second = membersAnswer.parse(
      await (await caller.request(`${path}?limite=2&cursor=${first.meta.cursor}`)).json(),
    );
    expect([...first.data, ...second.data].map(({ ruc, estado, condicion }) => [ruc, estado, condicion])).toEqual([
      [unknown, null, null],
      [known, 'SUSPENSIÓN TEMPORAL', 'HABIDO'],
      ['20990000060', null, null],
    ]);
    expect(second.meta).toEqual({ fecha_dato: '2026-11-26', cursor: null });
    for (let round = 0; round < 2; round += 1)
      expect((await caller.request(`${path}/${unknown}`, { method: 'DELETE' })).status).toBe(204);
    await expectProblem(await stranger.request(`${path}/${known}`, { method: 'DELETE' }), 'recurso_no_encontrado');
  });

  test('ClickHouse down: members are added with en_padron null, but not listed without their state', async () => {
    await around.clickhouseLine.cut();
    const added = await caller.request(path, { method: 'POST', json: { ruc: unknown } });
    expect(membersAddedAnswer.parse(await added.json()).data.agregados).toEqual([{ ruc: unknown, en_padron: null }]);
    await expectProblem(await caller.request(path), 'servicio_no_disponible');
    await around.clickhouseLine.mend();
  });

  test('an account watches at most 100,000 distinct RUCs; beyond that nothing is added', async () => {
    const by = await makeCaller(around.pool, around.api.url);
    const full = await makeList(by, 'Llena');
    await around.pool.query(
      `INSERT INTO watch_member (list_id, ruc) SELECT $1, '20' || lpad(n::text, 9, '0') FROM generate_series(1, 99999) n`,
      [full],
    );
    const other = await makeList(by, 'Otra');
    const add = (rucs: string[]) => by.request(`${listas}/${other}/rucs`, { method: 'POST', json: { rucs } });
    const problem = await expectProblem(await add([known, unknown]), 'limite_excedido');
    expect(problem.detail).toContain('100,000');
    // One more fits, and a RUC that is already watched does not count.
    expect((await add([known])).status).toBe(200);
    const held = `2000000000${checkDigit('2000000000')}`;
    expect((await add([held])).status).toBe(200);
    await expectProblem(await add([unknown]), 'limite_excedido');
  });
});

describe('webhooks', () => {
  test('created with a secret that is shown once and stored sealed; read, listed, deleted', async () => {
    const list = await makeList(caller, 'Para el webhook');
    const made = await makeWebhook(caller, { listas: [list], eventos: ['ruc.baja'], descripcion: 'ERP', en_vuelo: 5 });
    expect(made).toMatchObject({
      url: publicUrl,
      listas: [list],
      eventos: ['ruc.baja'],
      limite_por_segundo: 20,
      en_vuelo: 5,
      estado: 'activo',
      pausado_por: null,
      pendientes: 0,
      ultima_entrega: null,
    });
    expect(made.id).not.toContain('.');
    const { rows } = await around.pool.query('SELECT key_id, sealed FROM webhook_secret WHERE webhook_id = $1', [
      made.id,
    ]);
    expect(rows[0].sealed.toString('latin1')).not.toContain(made.secreto);
    const ring = parseKeyRing(apiSecrets.WEBHOOK_SECRET_KEYS);
    expect(openSecret(ring, made.id, { keyId: rows[0].key_id, sealed: rows[0].sealed })).toBe(made.secreto);

    const { secreto, ...shown } = made;
    const path = `${webhooks}/${made.id}`;
    const text = await (await caller.request(path)).text();
    expect(text).not.toContain(secreto);
    expect(webhookAnswer.parse(JSON.parse(text)).data).toEqual(shown);
    const all = webhooksAnswer.parse(await (await caller.request(webhooks)).json());
    expect(all.data.map(({ id }) => id)).toContain(made.id);
    for (const method of ['GET', 'DELETE'])
      await expectProblem(await stranger.request(path, { method }), 'recurso_no_encontrado');
    expect((await caller.request(path, { method: 'DELETE' })).status).toBe(204);
    await expectProblem(await caller.request(path), 'recurso_no_encontrado');
  });

  test.each([
    'http://93.184.216.34/',
    'https://127.0.0.1/',
    'https://127.1/',
    'https://2130706433/',
    'https://[::1]/',
    'https://[::ffff:127.0.0.1]/',
    'https://10.0.0.1/',
    'https://169.254.169.254/',
    'https://localhost/',
    'https://metadata.google.internal/',
    'https://usuario@93.184.216.34/',
    'https://93.184.216.34:5432/',
    'https://256.0.0.1/',
    'ftp://93.184.216.34/',
    'no es una url',
    'https://no-existe.invalid/',
  ])('%s is no target', async (url) => {
    const problem = await expectProblem(
      await caller.request(webhooks, { method: 'POST', json: { url } }),
      'url_no_permitida',
    );
    expect(problem.clase).toMatch(/^[a-z_]+$/);
    // The kind of refusal and no detail: neither an address nor a name server's answer.
    expect(problem.detail).toMatch(/^La URL no se admite como destino de avisos: [^0-9]+\.$/);
  });

  test('impossible bodies are refused', async () => {
    const post = (json: unknown) => caller.request(webhooks, { method: 'POST', json });
    for (const wrong of [
      { eventos: [] },
      { listas: [] },
      { eventos: ['ruc.otro'] },
      { limite_por_segundo: 201 },
      { en_vuelo: 0 },
    ])
      await expectProblem(await post({ url: publicUrl, ...wrong }), 'parametro_invalido');
    await expectProblem(await post({ url: publicUrl, secreto: 'mío' }), 'parametro_desconocido');
    const foreign = await makeList(stranger, 'Ajena');
    await expectProblem(await post({ url: publicUrl, listas: [foreign] }), 'recurso_no_encontrado');
    await expectProblem(await post({ url: publicUrl, listas: Array(1_000).fill(foreign) }), 'recurso_no_encontrado');
    const many = { listas: Array(1_001).fill(foreign) };
    await expectProblem(await post({ url: publicUrl, ...many }), 'limite_excedido');
    const { id } = await makeWebhook(caller);
    await expectProblem(await caller.request(`${webhooks}/${id}`, { method: 'PATCH', json: many }), 'limite_excedido');
  });

  test('at most 50 per account, also when many are created at once', async () => {
    const by = await makeCaller(around.pool, around.api.url);
    const answers = await Promise.all(
      Array.from({ length: 55 }, () => by.request(webhooks, { method: 'POST', json: { url: publicUrl } })),
    );
    expect(answers.filter((answer) => answer.status === 201)).toHaveLength(50);
    await expectProblem(answers.find((answer) => answer.status !== 201)!, 'limite_excedido');
  });

  test('paused and resumed by the customer: held deliveries are sent, discarded, or sent from an instant on', async () => {
    const { id } = await makeWebhook(caller);
    const path = `${webhooks}/${id}`;
    const read = async () => webhookAnswer.parse(await (await caller.request(path)).json()).data;
    const act = async (verb: string, json?: unknown) => {
      const response = await caller.request(`${path}/${verb}`, {
        method: 'POST',
        ...(json === undefined ? {} : { json }),
      });
      expect(response.status).toBe(200);
      return webhookAnswer.parse(await response.json()).data;
    };
    await around.pool.query("SELECT ensure_event_day('2026-11-26')");
    await around.pool.query(
      `INSERT INTO delivery (day, id, event_id, webhook_id, account_id, ruc, position, created_at, next_due_at)
       SELECT '2026-11-26', 'en_' || $1 || n, 'ev', $1, $2, $3, n, '2026-11-26T10:00:00Z'::timestamptz + n * interval '1 hour', now()
       FROM generate_series(1, 4) n`,
      [id, caller.accountId, known],
    );
    expect(await act('pausar')).toMatchObject({ estado: 'pausado', pausado_por: 'cliente', pendientes: 4 });
    expect(await act('pausar')).toMatchObject({ estado: 'pausado' });
    expect(await act('reanudar', { pendientes: { desde: '2026-11-26T13:00:00Z' } })).toMatchObject({
      estado: 'activo',
      pausado_por: null,
      pendientes: 2,
    });
    await act('pausar');
    expect(await act('reanudar')).toMatchObject({ estado: 'activo', pendientes: 2 });
    await act('pausar');
    expect(await act('reanudar', { pendientes: 'ninguno' })).toMatchObject({ estado: 'activo', pendientes: 0 });
    const { rows } = await around.pool.query('SELECT estado FROM delivery WHERE webhook_id = $1', [id]);
    expect(rows.map((row) => row.estado)).toEqual(Array(4).fill('descartada'));
    expect((await read()).estado).toBe('activo');
    for (const json of [{ pendientes: 'algunos' }, { pendientes: { desde: 'ayer' } }])
      await expectProblem(await caller.request(`${path}/reanudar`, { method: 'POST', json }), 'parametro_invalido');
    await expectProblem(await stranger.request(`${path}/pausar`, { method: 'POST' }), 'recurso_no_encontrado');
  });
});

test('PostgreSQL down: watch routes give 503 with Retry-After, and work again without a restart', async () => {
  expect((await caller.request(listas)).status).toBe(200);
  await around.postgresLine.cut();
  await expectProblem(await caller.request(listas), 'servicio_no_disponible');
  const made = await caller.request(listas, { method: 'POST', json: { nombre: 'Mientras tanto' } });
  await expectProblem(made, 'servicio_no_disponible');
  await expectProblem(await caller.request('/id/v1/watch/eventos'), 'servicio_no_disponible');
  await around.postgresLine.mend();
  expect((await caller.request(listas, { method: 'POST', json: { nombre: 'Mientras tanto' } })).status).toBe(201);
});
