import { afterAll, beforeAll, expect, inject, onTestFinished, test } from 'vitest';
import { listActs } from '../../api/operators/audit.ts';
import type { PublishedLines } from '../../api/operators/published-lines.ts';
import type { OperatorPageDependencies } from '../../api/pages/operator/table.ts';
import { makePool, type Pool } from '../../pipelines/runtime/postgres.ts';
import { writePing } from '../../pipelines/webhooks/resend.ts';
import { type FreshDatabase, migratedDatabase } from '../support/engines/isolation.ts';
import { expectGoodLooks, useBrowser } from '../support/pages/browser.ts';
import { acme, bravo, makeOperatorScene, type OperatorScene, person } from '../support/pages/operator-scene.ts';
import { linkFor, type OperatorSite, operatorVisitor, startOperatorSite } from '../support/pages/operators.ts';

// What operators do in their console.

const browser = useBrowser();
let database: FreshDatabase;
let pool: Pool;
let site: OperatorSite;
let scene: OperatorScene;
beforeAll(async () => {
  database = await migratedDatabase(inject('endpoints'));
  pool = makePool(database.DATABASE_URL, 'test', 4);
  scene = await makeOperatorScene(pool);
  site = await startOperatorSite({ pool, archive: scene.archive, lines: scene.lines });
});
afterAll(async () => {
  await site?.stop();
  await scene?.close();
  await pool?.end();
  await database?.drop();
});

test('an empty installation: every page says that there is nothing yet', async (context) => {
  const fresh = await migratedDatabase(inject('endpoints'));
  const none = makePool(fresh.DATABASE_URL, 'test', 2);
  const empty = await startOperatorSite({ pool: none });
  onTestFinished(async () => {
    await empty.stop();
    await none.end();
    await fresh.drop();
  });
  const page = await browser.open(context);
  await page.goto(empty.url);
  await expectGoodLooks(page, 'operadores-entrar');
  const link = await linkFor(none, 'Ana Ruiz', 'decider');
  await page.goto(`${empty.url}${link}`);
  await expectGoodLooks(page, 'operadores-enlace');
  await page.click('main button');
  expect(page.url()).toBe(`${empty.url}/registros`);
  for (const path of [
    '/registros',
    '/registros/padron_reducido',
    '/registros/padron_reducido/historia',
    '/verificaciones',
    '/entregas',
    '/clientes',
    '/operadores',
  ]) {
    await page.goto(`${empty.url}${path}`);
    await expectGoodLooks(page, `operadores-vacio${path.replaceAll('/', '-')}`);
  }
  await page.goto(`${empty.url}${link}`);
  expect(await page.textContent('h1')).toBe('El enlace no sirve');
  await expectGoodLooks(page, 'operadores-enlace-usado');
});

test('from what waits to the gates, the notices that approving would send, and the decision', async (context) => {
  const page = await browser.open(context);
  await page.goto(`${site.url}${await linkFor(pool, 'Ana Ruiz', 'decider')}`);
  await page.click('main button');
  await expectGoodLooks(page, 'operadores-registros');
  await page.click('.waiting a');
  expect(await page.textContent('main')).toContain('pasa 19 puntos del límite');
  expect(await page.textContent('main')).toContain('Avisos que enviaría al aprobarla');
  expect(await page.textContent('table:has-text("Cliente")')).toContain('ruc.estado_cambiado');
  await expectGoodLooks(page, 'operadores-cuarentena');
  await page.click('text=Filas cambiadas de empresas >> nth=-1');
  expect(await page.locator('svg rect').count()).toBe(4);
  await expectGoodLooks(page, 'operadores-control');
  await page.goBack();
  await page.getByLabel('Motivo').first().fill('  ');
  // What a browser checks by itself is checked by the server, too.
  await page.evaluate('for (const form of document.forms) form.noValidate = true');
  await page.click('button:text-is("Aprobar")');
  expect(await page.textContent('.error')).toBe('Es obligatorio.');
  await expectGoodLooks(page, 'operadores-cuarentena-error');
  await page.getByLabel('Motivo').first().fill('Depuración anual, avisada por la SUNAT');
  await page.click('button:text-is("Aprobar")');
  expect(await page.textContent('[role=status]')).toContain('Aprobada');
  await expectGoodLooks(page, 'operadores-aprobada');
  expect(site.woken).toEqual(['padron_reducido']);
  const [act] = await listActs(pool, { subject: `publication ${scene.quarantined}`, before: null }, 1);
  expect(act).toMatchObject({
    ...{ who: 'Ana Ruiz', way: 'console', act: 'publications approve' },
    reason: 'Depuración anual, avisada por la SUNAT',
    ...{ before: { state: 'en_cuarentena' }, after: { state: 'descargada', decided_by: 'Ana Ruiz' } },
  });
  await page.goto(`${site.url}/auditoria`);
  await expectGoodLooks(page, 'operadores-auditoria');
});

test('from an edition’s changes down to a company and both lines, and what undoing would leave', async (context) => {
  const page = await browser.open(context);
  await page.goto(`${site.url}${await linkFor(pool, 'Ana Ruiz', 'decider')}`);
  await page.click('main button');
  await page.goto(`${site.url}/registros/padron_reducido`);
  await expectGoodLooks(page, 'operadores-registro');
  await page.goto(`${site.url}/registros/padron_reducido/historia`);
  await expectGoodLooks(page, 'operadores-historia');
  await page.goto(`${site.url}/ediciones/padron_reducido/2`);
  await expectGoodLooks(page, 'operadores-edicion');
  await page.click('tr:has-text("estado") a');
  expect(await page.textContent('main')).toContain('SUSPENSION TEMPORAL');
  await expectGoodLooks(page, 'operadores-cambios');
  await page.click(`text=${acme}`);
  const readCodes = async () => {
    await page.reload();
    return await page.locator('.code-box').allTextContents();
  };
  // Until the files are read, the page says how far that is.
  await expect.poll(async () => (await readCodes()).length, { timeout: 30_000 }).toBe(2);
  const codes = await readCodes();
  expect(codes[0]).toContain(`${acme}|PRIMERA EMPRESA S.A.|ACTIVO|`);
  expect(codes[1]).toContain(`${acme}|PRIMERA EMPRESA S.A.|SUSPENSION TEMPORAL|`);
  await expectGoodLooks(page, 'operadores-evidencia');
  await page.goto(`${site.url}/ediciones/padron_reducido/2/deshacer`);
  expect(await page.textContent('main')).toContain('Cambió otra vez después');
  await expectGoodLooks(page, 'operadores-deshacer');
  await page.getByRole('textbox', { name: 'Motivo' }).fill('Nombres de otro archivo');
  await page.click('button:text-is("Deshacer la edición")');
  expect(await page.textContent('[role=status]')).toContain('Se pidió deshacerla');
  await expectGoodLooks(page, 'operadores-edicion-deshecha');
});

test('deliveries and a customer: what is paused and why, a plan, a credit, a token that is shown once', async (context) => {
  await pool.query(`UPDATE webhook SET estado = 'pausado', pausado_por = 'respuesta_410' WHERE id = $1`, [
    scene.webhook,
  ]);
  const page = await browser.open(context);
  await page.goto(`${site.url}${await linkFor(pool, 'Ana Ruiz', 'decider')}`);
  await page.click('main button');
  await page.goto(`${site.url}/entregas`);
  expect(await page.textContent('main')).toContain('Respondió 410');
  await expectGoodLooks(page, 'operadores-entregas');
  await page.click(`text=${scene.webhook}`);
  await expectGoodLooks(page, 'operadores-webhook');
  await page.goto(`${site.url}/clientes`);
  await expectGoodLooks(page, 'operadores-clientes');
  await page.goto(`${site.url}/clientes/${scene.customer}`);
  await page.click('summary:has-text("Plan, correo")');
  await page.getByRole('combobox', { name: 'Plan' }).selectOption('empresa');
  await page.locator('form:has(select) input[name=motivo]').fill('Contrato nuevo');
  await page.click('button:text-is("Cambiar") >> nth=0');
  expect(await page.textContent('[role=status]')).toContain('El plan cambió');
  await page.click('summary:has-text("Hacer un token")');
  await page.locator('form:has(button:text-is("Hacer un token")) input[name=motivo]').fill('El anterior se filtró');
  await page.click('button:text-is("Hacer un token")');
  const token = (await page.textContent('.code-box code'))!;
  expect(token).toMatch(/^pad_live_[0-9a-f]{16}_[0-9a-f]{48}$/);
  await expectGoodLooks(page, 'operadores-token');
  await page.goto(`${site.url}/clientes/${scene.customer}`);
  expect(await page.content()).not.toContain(token);
  await expectGoodLooks(page, 'operadores-cliente');
  expect(site.logLines()).not.toContain(token);
});

test('a token is not made in an old session', async () => {
  const visitor = await operatorVisitor(pool, site.url);
  await pool.query(`UPDATE operator_session SET started_at = now() - interval '16 minutes'`);
  const path = `/clientes/${scene.customer}`;
  const answer = await visitor.post(path, { form: 'token', fields: { motivo: 'prueba' } });
  expect([answer.status, answer.html.includes('entre de nuevo')]).toEqual([422, true]);
});

test('no natural person’s name or RUC is on a page, and HTML of a register is shown as text', async () => {
  const visitor = await operatorVisitor(pool, site.url, 'viewer', 'Beto Paz');
  const seen: string[] = [];
  for (const path of [
    '',
    '/cambios',
    '/cambios?columna=estado',
    `/cambios/${acme}`,
    `/cambios/${bravo}`,
    `/cambios/${person}`,
    '/deshacer',
  ]) {
    const { html, status } = await visitor.get(`/ediciones/padron_reducido/2${path}`);
    seen.push(`${path} ${status}`);
    expect(html).not.toContain('PLANTADA');
    if (path !== `/cambios/${person}`) expect(html).not.toContain(person);
  }
  expect(seen.slice(-3)).toEqual([`/cambios/${bravo} 404`, `/cambios/${person} 404`, '/deshacer 200']);
  const held = await visitor.get(`/publicaciones/${scene.quarantined}`);
  expect(held.html).not.toContain('<b>S.A.');
  expect(site.logLines()).not.toMatch(new RegExp(`PLANTADA|${person}`));
});

test('while the lines are read the page says how far that is, and what cannot be kept is searched', async () => {
  const find = async (answer: { part: number } | null) => {
    const lines = { keeps: () => true, prepare: async () => {}, find: async () => answer } as unknown as PublishedLines;
    const other = await startOperatorSite({ pool, archive: scene.archive, lines });
    onTestFinished(() => other.stop());
    const visitor = await operatorVisitor(pool, other.url, 'viewer', 'Beto Paz');
    return (await visitor.get(`/ediciones/padron_reducido/2/cambios/${acme}`)).html;
  };
  expect(await find({ part: 0.43 })).toMatch(/leyendo el archivo entero: va el 43\s?%/);
  expect(await find(null)).toContain(`${acme}|PRIMERA EMPRESA S.A.|ACTIVO|`);
});

test('asking a site, verifying, publishing again and sending again do what the commands do, and are recorded', async () => {
  const visitor = await operatorVisitor(pool, site.url);
  const send = async (path: string, form: string, fields: Record<string, string> = {}) =>
    (await visitor.post(path, { form, fields })).headers.get('location');
  const register = '/registros/padron_reducido';
  expect(await send(register, 'preguntar')).toBe(`${register}?hecho=pedido`);
  expect(await send('/verificaciones', 'verificar')).toBe('/verificaciones?hecho=pedido');
  expect(site.orders).toEqual(['padron_reducido', 'verify']);

  const edition = '/ediciones/padron_reducido/3';
  expect((await visitor.post(edition, { form: 'repetir' })).html).toContain('El estado actual no lo permite');
  await pool.query(`UPDATE edition SET materializada_at = NULL WHERE register = 'padron_reducido' AND number = 3`);
  expect((await visitor.get(edition)).html).toContain('Enviar otra vez a Kafka');
  expect(await send(edition, 'repetir')).toBe(`${edition}?hecho=repetida`);
  expect(site.woken.at(-1)).toBe('padron_reducido');

  const endpoint = `/entregas/${scene.webhook}`;
  await pool.query(`UPDATE webhook SET estado = 'activo', pausado_por = NULL WHERE id = $1`, [scene.webhook]);
  const delivery = (await writePing(pool, scene.customer, scene.webhook, new Date()))!;
  await pool.query(`UPDATE delivery SET estado = 'agotada', next_due_at = NULL WHERE id = $1`, [delivery]);
  expect(await send(endpoint, 'reenviar', { entrega: delivery })).toBe(`${endpoint}?hecho=reenviada`);
  const { rows } = await pool.query('SELECT estado FROM delivery WHERE id = $1', [delivery]);
  expect(rows).toEqual([{ estado: 'pendiente' }]);
  expect(site.wokenWebhooks).toEqual([scene.webhook]);
  expect((await visitor.post(endpoint, { form: 'reenviar', fields: { entrega: 'en_nada' } })).status).toBe(404);

  const acts = await listActs(pool, { subject: null, before: null }, 4 + 1);
  const done = acts.filter(({ act }) => act !== 'sign in').map(({ act, subject }) => [act, subject]);
  expect(done).toEqual([
    ['deliveries resend', `webhook ${scene.webhook}`],
    ['editions republish', 'edition padron_reducido 3'],
    ['verify', 'all registers'],
    ['publications run', 'register padron_reducido'],
  ]);
});

test('an order that Temporal did not take, or may not take, is not recorded', async () => {
  const answers: [OperatorPageDependencies['giveOrder'], string][] = [
    [null, 'TEMPORAL_ADDRESS'],
    [() => Promise.reject(new Error('deadline')), 'Temporal no responde'],
    [async () => 'paused', 'pausó el horario'],
  ];
  const before = await listActs(pool, { subject: 'all registers', before: null }, 100);
  for (const [giveOrder, text] of answers) {
    const other = await startOperatorSite({ pool, giveOrder });
    onTestFinished(() => other.stop());
    const visitor = await operatorVisitor(pool, other.url);
    const answer = await visitor.post('/verificaciones', { form: 'verificar' });
    expect([answer.status, answer.html.includes(text)]).toEqual([422, true]);
  }
  expect(await listActs(pool, { subject: 'all registers', before: null }, 100)).toEqual(before);
});

test('without an archive, without ClickHouse and without PostgreSQL the pages say so', async () => {
  await pool.query(`UPDATE publication SET state = 'en_cuarentena' WHERE id = $1`, [scene.quarantined]);
  const bare = await startOperatorSite({ pool });
  const away = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
  const files = { archive: scene.archive, lines: scene.lines };
  const lame = await startOperatorSite({ pool, ...files, lastKnownRows: () => Promise.reject(away) });
  try {
    const visitor = await operatorVisitor(pool, bare.url);
    for (const path of ['/cambios', `/cambios/${acme}`, '/deshacer'])
      expect((await visitor.get(`/ediciones/padron_reducido/2${path}`)).html).toContain('ARCHIVE_URL');
    const held = await visitor.get(`/publicaciones/${scene.quarantined}`);
    expect(held.html).toContain('línea de órdenes');
    const other = await operatorVisitor(pool, lame.url);
    const shown = await other.get(`/publicaciones/${scene.quarantined}`);
    expect([shown.status, shown.html.includes('ClickHouse no responde')]).toEqual([200, true]);
    expect(shown.html).toContain('Rechazar para siempre');
  } finally {
    await bare.stop();
    await lame.stop();
  }
  const dead = makePool('postgres://padron@127.0.0.1:1/padron', 'test', 1);
  const alone = await startOperatorSite({ pool: dead });
  try {
    const visitor = await operatorVisitor(pool, site.url);
    const answer = await fetch(`${alone.url}/registros`, {
      headers: { accept: 'text/html', cookie: `padron_operador=${visitor.cookies.get('padron_operador')}` },
    });
    expect(answer.status).toBe(503);
    expect(await answer.text()).toContain('El servicio no está disponible');
  } finally {
    await alone.stop();
    await dead.end();
  }
});
