import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { problemsOf } from '../../api/openapi/document.ts';
import { type Example, examplesUrl } from '../../api/openapi/texts.ts';
import { type Operation, type OperationName, operations, statusOf } from '../../api/operations.ts';
import { problems } from '../../schemas/http/problem.ts';
import { type ExampleRequest, exampleRequests, targetOf } from '../support/api/examples.ts';
import { insertEvent, startLoadedApi } from '../support/api/loaded-api.ts';
import { problemsOfNoOperation, provocations } from '../support/api/problems.ts';
import { expectProblem, makeCaller, type TestCaller } from '../support/api/process.ts';
import type { Surroundings } from '../support/api/surroundings.ts';

// Every route is called with its example in the document, which also shows the answer.

let around: Surroundings;
let caller: TestCaller;
/** A caller of plan empresa, which has delta files. */
let enterprise: TestCaller;
const ids: Record<string, string> = {};
const shown: Record<string, Example> = {};

beforeAll(async () => {
  ({ around, caller } = await startLoadedApi());
  enterprise = await makeCaller(around.pool, around.api.url, { plan: 'empresa' });
});
afterAll(() => around?.stop());

describe('each operation answers its example', () => {
  test.each(Object.entries(exampleRequests))('%s', async (name, request) => {
    const operation: Operation = operations[name as OperationName];
    const { method, path, access, answer: schema, textType, fileTypes } = operation;
    if (name === 'verEventos') await insertEvent(around, caller, Number(ids.lista));
    const response = await (access === 'empresa' ? enterprise : caller).request(targetOf(path, withIds(request)), {
      method: method.toUpperCase(),
      ...(request.body === undefined ? {} : { json: request.body }),
    });
    // A stream has no end to wait for.
    const isStream = textType === 'text/event-stream';
    const text = isStream ? '' : await response.text();
    if (isStream) await response.body?.cancel();
    expect(response.status, text).toBe(statusOf(operation));
    if (schema === undefined) {
      expect(response.headers.get('content-type')?.split(';')[0] ?? undefined).toBe(textType ?? fileTypes?.[0]);
      return;
    }
    const answer: unknown = JSON.parse(text);
    schema.parse(answer);
    keepIds(name, answer);
    shown[name] = { ...(request.body === undefined ? {} : { body: request.body }), answer: steady(answer) };
  });

  test('the document shows these answers', async () => {
    await expect(`${JSON.stringify(shown, null, 1)}\n`).toMatchFileSnapshot(examplesUrl.pathname);
  });
});

describe('every code of a problem', () => {
  const provoked = new Set<string>();

  test.each(provocations)('$code', async ({ code, request }) => {
    const response = await request({ around, caller });
    const problem = await expectProblem(response, code);
    expect(JSON.stringify(problem), 'nothing of the inside').not.toMatch(/watch_list|select |\.ts:|127\.0\.0\.1/i);
    provoked.add(code);
  });

  test('each is explained where its `type` leads', async () => {
    for (const code of Object.keys(problems)) {
      const response = await fetch(`${around.api.url}/errores/${code}`);
      expect(response.status, code).toBe(200);
      expect(await response.text()).toContain(code);
    }
  });

  test('none is left out', () => {
    const said = Object.values<Operation>(operations).flatMap((operation) => problemsOf(operation));
    expect([...provoked, 'peticion_incompleta'].sort()).toEqual(
      [...new Set([...said, ...problemsOfNoOperation])].sort(),
    );
  });
});

function withIds({ parameters = {}, ...rest }: ExampleRequest): ExampleRequest {
  const named = Object.entries(parameters).map(([name, value]) => [
    name,
    value.startsWith('$') ? ids[value.slice(1)]! : value,
  ]);
  return { ...rest, parameters: Object.fromEntries(named) };
}

function keepIds(name: string, answer: unknown): void {
  const { data, meta } = answer as { data: { id?: unknown; entrega?: string }; meta: { consulta_id?: string } };
  if (name === 'crearLista') ids.lista = String(data.id);
  if (name === 'crearWebhook') ids.webhook = String(data.id);
  if (name === 'probarWebhook') ids.entrega = data.entrega!;
  if (name === 'crearRecuperacion') ids.recuperacion = String(data.id);
  if (meta.consulta_id !== undefined) ids.consulta_id = meta.consulta_id;
}

/** Replaces values that differ between runs by fixed ones. Days of the calendar's data and of the registers stay. */
const fixed: Readonly<Record<string, unknown>> = {
  evento_id: 'ev_AAECAwQFBgcICQoLDA0ODw',
  consulta_id: '3f8e8a52-6a1c-4a0e-9d0b-2f6a4c1d7e90',
  consultado_en: '2026-11-26T10:15:00-05:00',
  creada_en: '2026-11-26T10:15:00-05:00',
  creado_en: '2026-11-26T10:15:00-05:00',
  agregado_en: '2026-11-26T10:15:00-05:00',
  reinicia_en: '2026-12-01T00:00:00-05:00',
  secreto: `whsec_${'A'.repeat(43)}=`,
  ocurrido_en: '2026-11-26T04:31:07-05:00',
  proximo_intento_en: '2026-11-26T10:15:00-05:00',
  anterior_vence_en: '2026-11-27T10:15:00-05:00',
  usada: 6,
  cambios_sha256: 'cd'.repeat(32),
  enlace: 'http://127.0.0.1:8080/consola/enlace?clave=AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8',
  vence_en: '2026-11-27T04:31:07-05:00',
};

/** Warnings that depend on the day of the run. */
const dated = new Set(['dato_atrasado', 'cambio_reciente', 'inhabilitacion_reciente']);

function steady(answer: unknown): unknown {
  const text = JSON.stringify(answer, (name, value: unknown) => {
    if (name === 'cubre') return { desde: 2025, hasta: 2027 };
    if (name === 'advertencias') return (value as { codigo: string }[]).filter(({ codigo }) => !dated.has(codigo));
    return name in fixed && value !== null ? fixed[name] : value;
  });
  const id = '00112233445566778899aabbccddeeff';
  return JSON.parse(
    text
      .replace(/"(wh|re|ping)_[0-9a-f]{32}"/g, `"$1_${id}"`)
      .replace(/"id":"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"/g, '"id":"00112233-4455-6677-8899-aabbccddeeff"')
      // A warning about a bar names today, so the document would differ each day.
      .replace(/\bhoy, [0-9]{4}-[0-9]{2}-[0-9]{2}:/g, 'hoy, 2026-11-28:')
      .replace(/"en_[0-9]{6}_[\w-]{22}"/g, '"en_261126_AAECAwQFBgcICQoLDA0ODw"'),
  );
}
