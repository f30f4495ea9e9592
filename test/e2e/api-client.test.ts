import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { makeClient, PadronError, type StreamedEvent } from '../../api/client/client.ts';
import { repositoryRoot } from '../../deploy/local/config.ts';
import { listAnswer } from '../../schemas/http/lists.ts';
import { company, insertEvent, startLoadedApi } from '../support/api/loaded-api.ts';
import type { TestCaller } from '../support/api/process.ts';
import type { Surroundings } from '../support/api/surroundings.ts';

const run = promisify(execFile);

let around: Surroundings;
let caller: TestCaller;

beforeAll(async () => {
  ({ around, caller } = await startLoadedApi());
});
afterAll(() => around?.stop());

const client = (token = caller.token) => makeClient({ baseUrl: `${around.api.url}/`, token });

test('each operation has its method; input goes to path, query and body', async () => {
  const padron = client();
  const { data, meta } = await padron.consultarRuc({ ruc: company });
  // The types come from the schemas, so these lines compile only with the right names and types.
  const workers: number | null = data.nro_trabajadores;
  expect([data.ruc, workers, meta.fecha_dato]).toEqual([company, 12, '2026-11-26']);
  const due = await padron.verProximosVencimientos({
    digito: 0,
    desde: '2026-01-01',
    limite: 2,
    buen_contribuyente: true,
  });
  expect([due.resumen.buen_contribuyente, due.data.length]).toEqual([true, 2]);
  expect((await padron.verCuenta()).data.plan).toBe('crecimiento');
  expect(await padron.suscribirFeriados()).toMatch(/^BEGIN:VCALENDAR/);
  const made = listAnswer.parse(await padron.crearLista({ body: { nombre: 'Del cliente' } }));
  await padron.agregarRucs({ lista: made.data.id.toString(), body: { ruc: company } });
  expect(await padron.borrarLista({ lista: made.data.id.toString() })).toBeUndefined();
});

test('a problem is an error with its code; what is not there is not asked', async () => {
  const denied = client('pad_live_x').verCuenta();
  await expect(denied).rejects.toMatchObject({ code: 'token_invalido', status: 401, retryAfterSeconds: null });
  await expect(denied).rejects.toBeInstanceOf(PadronError);
  await expect(client().consultarRuc({ ruc: '' })).rejects.toThrow('ruc is missing');
  const elsewhere = makeClient({
    baseUrl: 'http://127.0.0.1:1',
    token: 'x',
    fetch: async () => new Response('<html>', { status: 502 }),
  });
  await expect(elsewhere.verCuenta()).rejects.toThrow('of status 502');
  await expect(client().verCuenta({}, { signal: AbortSignal.abort() })).rejects.toThrow();
});

test('a stream yields each event as it arrives, outlives the deadline, and continues after the last id', async () => {
  const padron = makeClient({ baseUrl: around.api.url, token: caller.token, timeoutMs: 1_000 });
  const list = Number((await padron.crearLista({ body: { nombre: 'Del flujo' } })).data.id);
  const first = await padron.seguirEventos({ lista: list });
  const connected = await first[Symbol.asyncIterator]().next();
  expect(connected.value).toEqual({ id: expect.stringMatching(/^[0-9]+$/), event: null });
  await sleep(1_500);
  await insertEvent(around, caller, list);
  // The stream is still open, so it must give the event without its end.
  const next = (await first[Symbol.asyncIterator]().next()).value as StreamedEvent;
  expect(next.event).toMatchObject({ datos: { ruc: company, campo: 'estado' }, posicion: Number(next.id) });
  await first[Symbol.asyncIterator]().return?.();
  const ids: string[] = [];
  for await (const { id, event } of await padron.seguirEventos({ lastEventId: String(Number(next.id) - 1) })) {
    ids.push(id);
    if (event !== null) break;
  }
  expect(ids).toEqual([String(Number(next.id) - 1), next.id]);
  await expect(padron.seguirEventos({ lastEventId: '999999' })).rejects.toMatchObject({ code: 'parametro_invalido' });
});

test('the packed package runs the example of the README in an empty project', async () => {
  const project = mkdtempSync(path.join(tmpdir(), 'padron-client-'));
  try {
    await run('npm', ['pack', '--silent', '--pack-destination', project], { cwd: repositoryRoot });
    const installed = path.join(project, 'node_modules', 'padron');
    mkdirSync(installed, { recursive: true });
    await run('tar', ['-xzf', path.join(project, 'padron-0.2.0.tgz'), '-C', installed, '--strip-components=1']);
    // The client's only dependency, which an install would fetch.
    symlinkSync(path.join(repositoryRoot, 'node_modules', 'zod'), path.join(project, 'node_modules', 'zod'));
    const example = /^```js\n([\s\S]*?)^```$/m.exec(readFileSync(path.join(repositoryRoot, 'README.md'), 'utf8'))![1]!;
    writeFileSync(path.join(project, 'example.mjs'), example);
    const { stdout } = await run(process.execPath, ['example.mjs'], {
      cwd: project,
      env: { PATH: process.env.PATH, PADRON_URL: around.api.url, PADRON_TOKEN: caller.token },
    });
    expect(stdout.split('\n').slice(0, 3)).toEqual([
      'COMERCIAL PRUEBA UNO S.A.C. ACTIVO 2026-11-26',
      '[ true, true ] 2',
      expect.stringContaining('404 fecha_sin_datos'),
    ]);
  } finally {
    rmSync(project, { recursive: true, force: true });
  }
});
