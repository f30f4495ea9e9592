import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { inTransaction } from '../../pipelines/runtime/postgres.ts';
import { writeOwnerNotice } from '../../pipelines/webhooks/owner-notices.ts';
import { createRecovery } from '../../pipelines/webhooks/recoveries.ts';
import { deliveryHeaders } from '../../workflows/delivery/signature.ts';
import { makeCaller, type TestCaller } from '../support/api/process.ts';
import { type Surroundings, startSurroundings } from '../support/api/surroundings.ts';
import { at, publicUrl, ruc, work } from '../support/api/webhook-scene.ts';
import { expectGoodLooks, useBrowser } from '../support/pages/browser.ts';
import { Visitor } from '../support/pages/visitor.ts';
import { insertEdition } from '../support/registers/served-register.ts';
import { writeChanges } from '../support/watch/events.ts';

// What a customer does with lists, events, webhooks and their deliveries.

const browser = useBrowser();
let around: Surroundings;
let url: string;
beforeAll(async () => {
  around = await startSurroundings();
  url = around.api.url;
});
afterAll(() => around?.stop());

async function signIn(page: Page, { token }: TestCaller, path: string): Promise<void> {
  await page.goto(`${url}${path}`);
  await page.fill('#entrar-token', token);
  await page.click('main button');
  expect(page.url()).toBe(`${url}${path}`);
}

async function signedIn({ token }: TestCaller): Promise<Visitor> {
  const visitor = new Visitor(url);
  await visitor.signIn(token);
  return visitor;
}

test('make a list, paste a table into it, take one out, export it, and delete it', async (context) => {
  const by = await makeCaller(around.pool, url);
  const page = await browser.open(context);
  await signIn(page, by, '/consola/listas');
  await expectGoodLooks(page, 'listas-vacio');
  await page.fill('#crear-nombre', 'Proveedores <b>críticos</b>');
  await page.click('main form button');
  await expectGoodLooks(page, 'lista-vacia');
  await page.fill('#agregar-rucs', 'codigo;ruc\n7;20990000019\n8;20990000018\n9;10990000013\n7;20990000019\n\nACME');
  await page.click('form:has(#agregar-rucs) button');
  expect(await page.textContent('h1')).toBe('Se agregó 1 empresa');
  const answers = await page.locator('tbody tr').allTextContents();
  expect(answers).toHaveLength(5);
  expect(answers[1]).toContain('El dígito verificador no es correcto');
  expect(answers[2]).toMatch(/10\*+13.*solo empresas/);
  await expectGoodLooks(page, 'lista-respuestas');
  await page.click('text=Proveedores');
  expect(await page.textContent('h1')).toBe('Proveedores <b>críticos</b>');
  await expectGoodLooks(page, 'lista');

  const [download] = await Promise.all([page.waitForEvent('download'), page.click('text=Exportar')]);
  expect(download.suggestedFilename()).toMatch(/^lista-\d+\.csv$/);

  const file = { name: 'proveedores.csv', mimeType: 'text/csv', buffer: Buffer.from('ruc\n20990000043\n') };
  await page.getByLabel('O elija un archivo').setInputFiles(file);
  await page.locator('text=El archivo está en la caja').waitFor();
  expect(await page.inputValue('#agregar-rucs')).toBe('ruc\n20990000043\n');

  await page.click('button[aria-label="Quitar 20990000019"]');
  expect(await page.textContent('[role=status]')).toBe('La empresa ya no está en la lista.');
  await page.click('text=Borrar la lista');
  expect(page.url()).toBe(`${url}/consola/listas?hecho=borrada`);
});

test('the export has every company of a list', async () => {
  const by = await makeCaller(around.pool, url);
  const made = await by.request('/id/v1/watch/listas', { method: 'POST', json: { nombre: 'Una' } });
  const { id } = (await made.json()).data;
  await by.request(`/id/v1/watch/listas/${id}/rucs`, { method: 'POST', json: { rucs: [ruc, '20990000043'] } });
  const visitor = await signedIn(by);
  const { html, headers } = await visitor.get(`/consola/listas/${id}/exportar`);
  expect(headers.get('content-type')).toBe('text/csv; charset=utf-8');
  expect(headers.get('cache-control')).toBe('no-store');
  // Reading it removes the mark of UTF-8 at its start.
  expect(html.split('\r\n').map((line) => line.split(',')[0])).toEqual(['ruc', ruc, '20990000043', '']);
});

test('a thousand lines are answered, and one more is refused with what was pasted', async () => {
  const by = await makeCaller(around.pool, url);
  const made = await by.request('/id/v1/watch/listas', { method: 'POST', json: { nombre: 'Larga' } });
  const path = `/consola/listas/${(await made.json()).data.id}`;
  const visitor = await signedIn(by);
  const lines = (count: number) => Array.from({ length: count }, () => ruc).join('\n');
  await visitor.get(path);
  const fits = await visitor.post(path, { form: 'agregar', fields: { rucs: lines(1_000) } });
  expect([fits.status, fits.html.match(/Ya está más arriba/g)?.length]).toEqual([200, 999]);
  const tooMany = await visitor.post(path, { form: 'agregar', fields: { rucs: lines(1_001) } });
  expect(tooMany.status).toBe(422);
  expect(tooMany.html).toContain('Admite hasta 1,000 líneas a la vez; hay 1,001.');
  expect(tooMany.html).toContain(`${ruc}\n${ruc}`);
});

/** An account with a webhook and two events, of which one delivery failed for good and one is on its way. */
async function scene(by: TestCaller): Promise<{ id: string; list: number }> {
  const list = (
    await (await by.request('/id/v1/watch/listas', { method: 'POST', json: { nombre: 'Proveedores' } })).json()
  ).data.id as number;
  await by.request(`/id/v1/watch/listas/${list}/rucs`, { method: 'POST', json: { rucs: [ruc] } });
  const made = await by.request('/id/v1/watch/webhooks', { method: 'POST', json: { url: publicUrl } });
  const { id } = (await made.json()).data;
  await around.pool.query("UPDATE webhook SET created_at = '2026-01-01' WHERE id = $1", [id]);
  await insertEdition(around.pool, { number: 7, fechaDato: '2026-11-26' }).catch(() => undefined);
  await writeChanges(around.pool, by, { list, edition: 7, rucs: [ruc], detectedAt: at });
  await work(around, id, { success: false, retryInMs: null, response: '<h1>Error & fin</h1>' });
  return { id, list };
}

test('events are sentences beside the edition, date and hash of the file that caused them', async (context) => {
  const by = await makeCaller(around.pool, url);
  const page = await browser.open(context);
  await signIn(page, by, '/consola/eventos');
  expect(await page.textContent('main')).toContain('Todavía no hay eventos.');
  await expectGoodLooks(page, 'eventos-vacio');
  const { list } = await scene(by);
  // The page follows without being loaded again.
  await page.locator('.event').first().waitFor();
  expect(await page.textContent('.event h2')).toBe('El estado pasó de ACTIVO a SUSPENSIÓN TEMPORAL.');
  const { rows } = await around.pool.query<{ sha256: string }>(
    `SELECT p.sha256 FROM edition e JOIN publication p ON p.id = e.publication_id
     WHERE e.register = 'padron_reducido' AND e.number = 7`,
  );
  expect(await page.textContent('.event .facts')).toContain(rows[0]!.sha256);
  expect(await page.textContent('.event .facts')).toMatch(/edición\s7.*26 de noviembre de 2026/s);
  await expectGoodLooks(page, 'eventos');
  await page.selectOption('#filtro-evento', 'ruc.baja');
  await page.click('.filters button');
  expect(await page.textContent('main')).toContain('Ningún evento con estos filtros.');
  await page.goto(`${url}/consola/eventos?lista=${list}&ruc=123`);
  expect(await page.textContent('.error')).toBe('Debe ser un RUC válido.');
  await expectGoodLooks(page, 'eventos-filtro-errado');
});

test('make a webhook, see its secret once, test, pause, resume, rotate and delete it', async (context) => {
  const by = await makeCaller(around.pool, url);
  const page = await browser.open(context);
  await signIn(page, by, '/consola/webhooks');
  await expectGoodLooks(page, 'webhooks-vacio');
  await page.click('text=Crear un webhook');
  await page.fill('#crear-url', 'http://10.0.0.1/x');
  await page.fill('#crear-descripcion', 'ERP de compras');
  await page.check('input[value="ruc.baja"]');
  await page.check('input[value="ruc.alta"]');
  await page.click('main form button');
  expect(await page.textContent('.error')).toContain('https://');
  expect(await page.isChecked('input[value="ruc.baja"]')).toBe(true);
  expect(await page.isChecked('input[value="ruc.nombre_cambiado"]')).toBe(false);
  await expectGoodLooks(page, 'webhook-nuevo-error');
  await page.fill('#crear-url', publicUrl);
  await page.click('main form button');
  const secret = await page.textContent('.code-box code');
  expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
  await expectGoodLooks(page, 'webhook-secreto');
  await page.click('text=Ya lo guardé');
  expect(await page.content()).not.toContain(secret);
  const path = new URL(page.url()).pathname;
  await expectGoodLooks(page, 'webhook');

  await page.click('text=Enviar una prueba');
  expect(await page.textContent('h1')).toBe('Prueba');
  await expectGoodLooks(page, 'entrega-prueba');

  await page.goto(`${url}${path}`);
  await page.click('text=Poner en pausa');
  expect(await page.textContent('.facts')).toContain('En pausa, por usted');
  await page.selectOption('#reanudar-pendientes', 'desde');
  await page.click('form:has(#reanudar-pendientes) button');
  expect(await page.textContent('.error')).toContain('obligatorio');
  await expectGoodLooks(page, 'webhook-en-pausa');
  await page.selectOption('#reanudar-pendientes', 'ninguno');
  await page.click('form:has(#reanudar-pendientes) button');
  expect(await page.textContent('.facts')).toContain('Activo');

  await page.click('form:has(#rotar-gracia_horas) button');
  expect(await page.textContent('.code-box code')).toMatch(/^whsec_/);
  await page.click('text=Ya lo guardé');
  expect(await page.textContent('main')).toMatch(/firma todavía 23 horas/);
  await expectGoodLooks(page, 'webhook-dos-secretos');

  // A session that is not confirmed is asked for the token first, and comes back.
  await around.pool.query(
    "UPDATE console_session SET confirmed_at = now() - interval '6 minutes' WHERE account_id = $1",
    [by.accountId],
  );
  await page.click('button:has-text("Borrar")');
  expect(await page.textContent('h1')).toBe('Confirme que es usted');
  await expectGoodLooks(page, 'confirmar');
  await page.fill('#confirmar-token', by.token);
  await page.click('main button');
  expect(new URL(page.url()).pathname).toBe(path);
  await page.click('button:has-text("Borrar")');
  expect(page.url()).toBe(`${url}/consola/webhooks?hecho=borrado`);

  await inTransaction(around.pool, (client) =>
    writeOwnerNotice(client, path.split('/').at(-1)!, {
      kind: 'webhook.por_pausar',
      detail: { porcentaje: 50, fallos_consecutivos: 12, primer_fallo_en: at.toISOString() },
    }),
  );
  await page.click('text=Avisos sobre sus webhooks');
  expect(await page.textContent('main')).toContain('12 fallos seguidos, 50 % del camino a la pausa.');
  await expectGoodLooks(page, 'avisos');
});

test('look at deliveries, send one again, and recover: count first, then send, then cancel', async (context) => {
  const by = await makeCaller(around.pool, url);
  const { id } = await scene(by);
  const page = await browser.open(context);
  await signIn(page, by, `/consola/webhooks/${id}/entregas`);
  await expectGoodLooks(page, 'entregas');
  await page.selectOption('#filtro-estado', 'entregada');
  await page.click('.filters button');
  expect(await page.textContent('main')).toContain('Ninguna entrega con estos filtros.');
  await page.selectOption('#filtro-estado', 'agotada');
  await page.click('.filters button');
  await page.click('tbody a');
  expect(await page.textContent('main')).toContain(
    'No llegó: su servidor contestó con un error (HTTP 503). Tardó 12 ms.',
  );
  expect(await page.textContent('main')).toContain('<h1>Error & fin</h1>');
  await expectGoodLooks(page, 'entrega');

  await page.goto(`${url}/consola/webhooks/${id}/recuperaciones`);
  await page.fill('#contar-desde', '2026-11-01');
  await page.fill('#contar-hora', '25:00');
  await page.click('text=Contar');
  expect(await page.textContent('.error')).toBe('Debe ser una hora como 09:30.');
  await expectGoodLooks(page, 'recuperaciones-error');
  await page.fill('#contar-hora', '09:30');
  await page.click('text=Contar');
  expect(await page.textContent('h1')).toBe('Se enviaría 1 entrega');
  await expectGoodLooks(page, 'recuperacion-contada');
  await page.click('text=Enviarlas otra vez');
  // The API goes on with it by itself, and the page follows without being loaded again.
  await page.locator('.facts:has-text("Terminada")').waitFor();
  await expectGoodLooks(page, 'recuperacion-terminada');

  const wanted = { from: new Date('2026-11-01'), before: null, states: ['entregada' as const], isSimulated: false };
  const running = (await createRecovery(around.pool, id, wanted))!;
  await around.pool.query(
    "UPDATE recovery SET estado = 'en_curso', finished_at = NULL, next_at = 'infinity' WHERE id = $1",
    [running.id],
  );
  await page.goto(`${url}/consola/webhooks/${id}/recuperaciones/${running.id}`);
  await expectGoodLooks(page, 'recuperacion-en-curso');
  await page.click('text=Cancelar');
  expect(await page.textContent('.facts')).toContain('Cancelada');
  await page.goto(`${url}/consola/webhooks/${id}/recuperaciones`);
  await expectGoodLooks(page, 'recuperaciones');

  const [{ id: delivery }] = (
    await around.pool.query<{ id: string }>('SELECT id FROM delivery WHERE webhook_id = $1 AND NOT is_test', [id])
  ).rows as [{ id: string }];
  await page.goto(`${url}/consola/entregas/${delivery}`);
  await page.click('text=Enviar otra vez');
  expect(await page.textContent('[role=status]')).toBe('Se envía otra vez, con el mismo id.');
});

test('the doctor of signatures knows the delivery, and says what a program changed', async (context) => {
  const by = await makeCaller(around.pool, url);
  const { id } = await scene(by);
  const { rows } = await around.pool.query<{ delivery: string; payload: string; seconds: number }>(
    `SELECT d.id AS delivery, e.payload, floor(extract(epoch FROM a.started_at))::int AS seconds
     FROM delivery d JOIN event e ON e.day = d.day AND e.id = d.event_id
       JOIN attempt a ON a.day = d.day AND a.delivery_id = d.id WHERE d.webhook_id = $1`,
    [id],
  );
  const { delivery, payload, seconds } = rows[0]!;
  const secret = `whsec_${Buffer.alloc(32, 5).toString('base64')}`;
  const headers = deliveryHeaders({ id: delivery, event: 'x', payload }, [secret], seconds, '1');
  const page = await browser.open(context);
  await signIn(page, by, '/consola/firmas');
  await expectGoodLooks(page, 'firmas');
  const pasted = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  const send = async (body: string) => {
    await page.fill('#revisar-cabeceras', pasted.join('\n'));
    await page.fill('#revisar-cuerpo', body);
    await page.fill('#revisar-secreto', secret);
    await page.click('main form button');
  };
  await send(payload);
  expect(await page.textContent('section.message')).toContain('La firma coincide.');
  await send(JSON.stringify(JSON.parse(payload), null, 2));
  expect(await page.textContent('section.message')).toContain('se volvió a escribir');
  expect(await page.content()).not.toContain(secret);
  await expectGoodLooks(page, 'firmas-cuerpo-cambiado');
  expect(around.api.output()).not.toContain(secret);
});

test('what belongs to another account is not found', async () => {
  const owner = await makeCaller(around.pool, url);
  const { id, list } = await scene(owner);
  const { rows } = await around.pool.query<{ id: string }>('SELECT id FROM delivery WHERE webhook_id = $1', [id]);
  const counted = await owner.request(`/id/v1/watch/webhooks/${id}/recuperaciones`, {
    method: 'POST',
    json: { desde: '2026-11-01T00:00:00-05:00', simular: true },
  });
  const recovery = (await counted.json()).data.id;
  const stranger = await signedIn(await makeCaller(around.pool, url));
  const paths = [
    `/consola/listas/${list}`,
    `/consola/listas/${list}/exportar`,
    `/consola/webhooks/${id}`,
    `/consola/webhooks/${id}/entregas`,
    `/consola/webhooks/${id}/recuperaciones`,
    `/consola/webhooks/${id}/recuperaciones/${recovery}`,
    `/consola/entregas/${rows[0]!.id}`,
    '/consola/listas/1e3',
    '/consola/webhooks/%00',
  ];
  for (const path of paths) expect([path, (await stranger.get(path)).status]).toEqual([path, 404]);
  await stranger.get('/consola/listas');
  const forms: [string, string][] = [
    [`/consola/listas/${list}`, 'borrar'],
    [`/consola/webhooks/${id}`, 'borrar'],
    [`/consola/webhooks/${id}`, 'pausar'],
    [`/consola/webhooks/${id}`, 'probar'],
    [`/consola/webhooks/${id}/recuperaciones/${recovery}`, 'empezar'],
    [`/consola/entregas/${rows[0]!.id}`, 'reenviar'],
  ];
  for (const [path, form] of forms) {
    const { status } = await stranger.post(path, { form });
    expect([path, form, status]).toEqual([path, form, 404]);
  }
  const mine = await signedIn(owner);
  expect((await mine.get(`/consola/webhooks/${id}`)).html).toContain('Activo');
  expect((await stranger.get('/consola/eventos')).html).not.toContain(ruc);
});
