import { setTimeout as sleep } from 'node:timers/promises';
import { defaultRetentionRule, removeExpired } from '../../../pipelines/webhooks/retention.ts';
import type { ProblemCode } from '../../../schemas/http/problem.ts';
import { registerNames } from '../../../schemas/registers.ts';
import { insertList, writeChanges } from '../watch/events.ts';
import { sandboxToken, strangerToken } from './calendar-app.ts';
import { company, person, unknownCompany } from './loaded-api.ts';
import { makeCaller, requestsOf, type TestCaller } from './process.ts';
import { responseTo } from './raw-request.ts';
import type { Surroundings } from './surroundings.ts';

interface Stage {
  around: Surroundings;
  /** Has plan crecimiento and no contract. */
  caller: TestCaller;
}

/** Problems that are answered before the operation is known, or when no operation matches. */
export const problemsOfNoOperation: readonly ProblemCode[] = [
  'peticion_mal_formada',
  'peticion_incompleta',
  'cabeceras_demasiado_grandes',
  'ruta_no_encontrada',
  'metodo_no_permitido',
  'formulario_rechazado',
];

/** A request that gets the code as its answer. */
export interface Provocation {
  code: ProblemCode;
  request(stage: Stage): Promise<Response>;
}

const batch = '/id/v1/ruc/batch';
const lists = '/id/v1/watch/listas';
const events = '/id/v1/watch/eventos';

const get = (code: ProblemCode, target: string): Provocation => ({
  code,
  request: ({ caller }) => caller.request(target),
});
const post = (code: ProblemCode, target: string, json: unknown): Provocation => ({
  code,
  request: ({ caller }) => caller.request(target, { method: 'POST', json }),
});
const withToken = (code: ProblemCode, token: string | null): Provocation => ({
  code,
  request: ({ around }) => requestsOf(around.api.url, token)(`/id/v1/ruc/${company}`),
});

const ofFile = (code: ProblemCode, headers: Record<string, string>): Provocation => ({
  code,
  async request({ around }) {
    const by = await makeCaller(around.pool, around.api.url, { plan: 'empresa' });
    return by.request('/id/v1/ediciones/padron_reducido/2/cambios', { headers });
  },
});

/** Sends all requests at once, and returns the answer that has the status. */
async function refusedOf(around: Surroundings, targets: readonly string[], status: number): Promise<Response> {
  const by = await makeCaller(around.pool, around.api.url, { plan: 'empresa' });
  const answers = await Promise.all(targets.map((target) => by.request(target)));
  const refused = answers.find((answer) => answer.status === status) ?? answers[0]!;
  for (const answer of answers) if (answer !== refused) await answer.body?.cancel();
  return refused;
}

/**
 * Every code except peticion_incompleta, which takes half a minute (test/unit/api/malformed.test.ts). Requests that
 * break or empty a store come last.
 */
export const provocations: readonly Provocation[] = [
  {
    code: 'peticion_mal_formada',
    request: ({ around }) => responseTo(around.api.url, 'GET / HTTP/1.1\r\nConnection: close\r\n\r\n'),
  },
  {
    code: 'cabeceras_demasiado_grandes',
    request: ({ caller }) => caller.request(`/id/v1/ruc/buscar?q=${'x'.repeat(17_000)}`),
  },
  {
    code: 'json_invalido',
    request: ({ caller }) =>
      caller.request(batch, { method: 'POST', body: '{', headers: { 'content-type': 'application/json' } }),
  },
  {
    code: 'formulario_rechazado',
    request: ({ around }) =>
      fetch(`${around.api.url}/consola`, { method: 'POST', headers: { 'sec-fetch-site': 'cross-site' } }),
  },
  get('parametro_invalido', '/id/v1/ruc/buscar?q=acme&limite=0'),
  get('parametro_desconocido', `/id/v1/ruc/${company}?fehca=2026-11-26`),
  get('ruc_formato', '/id/v1/ruc/123'),
  get('ruc_digito_verificador', '/id/v1/ruc/20990000018'),
  get('fecha_invalida', `/id/v1/ruc/${company}?fecha=2026-02-30`),
  get('ruc_no_admitido', `/id/v1/vencimientos/proximos?digito=${company}`),
  withToken('sin_token', null),
  withToken('token_invalido', strangerToken),
  {
    code: 'token_revocado',
    async request({ around }) {
      const revoked = await makeCaller(around.pool, around.api.url);
      await around.pool.query('UPDATE token SET revoked_at = now() WHERE account_id = $1', [revoked.accountId]);
      return revoked.request(`/id/v1/ruc/${company}`);
    },
  },
  get('contrato_requerido', `/id/v1/ruc/${person}`),
  {
    code: 'plan_insuficiente',
    async request({ around }) {
      const free = await makeCaller(around.pool, around.api.url, { plan: 'free' });
      return free.request('/id/v1/ruc/buscar?q=acme');
    },
  },
  withToken('token_sandbox', sandboxToken),
  get('fecha_sin_datos', `/id/v1/ruc/${company}?fecha=2020-01-01`),
  get('ruc_no_encontrado', `/id/v1/ruc/${unknownCompany}`),
  get('anio_no_disponible', '/id/v1/vencimientos/2020'),
  get('recurso_no_encontrado', `${lists}/999999`),
  get('ruta_no_encontrada', '/id/v1/empresas'),
  { code: 'metodo_no_permitido', request: ({ caller }) => caller.request(batch, { method: 'PUT' }) },
  {
    code: 'nombre_en_uso',
    async request({ caller }) {
      await caller.request(lists, { method: 'POST', json: { nombre: 'Repetida' } });
      return caller.request(lists, { method: 'POST', json: { nombre: 'Repetida' } });
    },
  },
  post('cuerpo_demasiado_grande', batch, { rucs: ['0'.repeat(70_000)] }),
  {
    code: 'tipo_no_admitido',
    request: ({ caller }) =>
      caller.request(batch, { method: 'POST', body: 'rucs', headers: { 'content-type': 'text/plain' } }),
  },
  {
    code: 'idempotencia_otro_cuerpo',
    async request({ caller }) {
      const send = (rucs: string[]) =>
        caller.request(batch, { method: 'POST', json: { rucs }, headers: { 'idempotency-key': 'otro-cuerpo' } });
      await send([company]);
      return send([unknownCompany]);
    },
  },
  {
    code: 'idempotencia_en_curso',
    async request({ around }) {
      const by = await makeCaller(around.pool, around.api.url);
      const send = () =>
        by.request(batch, { method: 'POST', json: { rucs: [company] }, headers: { 'idempotency-key': 'en-curso' } });
      await send();
      // The state while the request that took the key is still running.
      await around.pool.query('UPDATE idempotent_answer SET key_id = NULL, sealed = NULL WHERE account_id = $1', [
        by.accountId,
      ]);
      return send();
    },
  },
  post('solo_empresas', `${lists}/1/rucs`, { ruc: person }),
  post('url_no_permitida', '/id/v1/watch/webhooks', { url: 'https://127.0.0.1/avisos' }),
  post('limite_excedido', batch, { rucs: Array(101).fill(company) }),
  {
    code: 'limite_por_minuto',
    async request({ around }) {
      await makePlan(around, 'lento', { rank: 11, lookups: 100, perMinute: 1 });
      const slow = await makeCaller(around.pool, around.api.url, { plan: 'lento' });
      // At most three requests within two minutes, so two of them fall into one minute.
      let response = await slow.request('/id/v1/cuenta');
      for (let more = 0; more < 2 && response.ok; more += 1) response = await slow.request('/id/v1/cuenta');
      return response;
    },
  },
  {
    code: 'cuota_agotada',
    async request({ around }) {
      await makePlan(around, 'vacio', { rank: 12, lookups: 0, perMinute: 600 });
      const empty = await makeCaller(around.pool, around.api.url, { plan: 'vacio' });
      return empty.request(`/id/v1/ruc/${company}`);
    },
  },
  {
    code: 'demasiados_flujos',
    async request({ around }) {
      const by = await makeCaller(around.pool, around.api.url);
      // Places that other processes hold.
      await around.pool.query(
        `INSERT INTO event_stream (id, account_id, lease_until)
         SELECT gen_random_uuid()::text, $1, now() + interval '1 minute' FROM generate_series(1, 5)`,
        [by.accountId],
      );
      return by.request(`${events}/stream`);
    },
  },
  ofFile('formato_no_disponible', { accept: 'text/csv' }),
  ofFile('rango_no_satisfacible', { range: 'bytes=1000000-' }),
  {
    code: 'demasiadas_descargas',
    async request({ around }) {
      // All wait for a file that is not made yet.
      return await refusedOf(around, Array(9).fill('/id/v1/ediciones/padron_reducido/1/cambios'), 429);
    },
  },
  {
    code: 'edicion_en_preparacion',
    async request({ around }) {
      // More files than an account may have made at once.
      const others = registerNames.filter((register) => register !== 'padron_reducido');
      return await refusedOf(
        around,
        others.map((register) => `/id/v1/ediciones/${register}/1/cambios`),
        503,
      );
    },
  },
  {
    code: 'cursor_vencido',
    async request({ around }) {
      const by = await makeCaller(around.pool, around.api.url);
      const list = await insertList(around.pool, by);
      const detectedAt = new Date('2025-01-10T12:00:00Z');
      await writeChanges(around.pool, by, { list, edition: 1, rucs: [company, unknownCompany], detectedAt });
      const page = (await (await by.request(`${events}?limite=1`)).json()) as { meta: { cursor: string } };
      await removeExpired(around.pool, defaultRetentionRule);
      return by.request(`${events}?cursor=${page.meta.cursor}`);
    },
  },
  {
    code: 'error_interno',
    async request({ around, caller }) {
      // An internal failure: the store answers, but the table is missing.
      await around.pool.query('ALTER TABLE watch_list RENAME TO watch_list_elsewhere');
      try {
        return await caller.request(lists);
      } finally {
        await around.pool.query('ALTER TABLE watch_list_elsewhere RENAME TO watch_list');
      }
    },
  },
  {
    code: 'servicio_no_disponible',
    async request({ around, caller }) {
      await around.clickhouseLine.cut();
      try {
        return await caller.request(`/id/v1/ruc/${company}`);
      } finally {
        await around.clickhouseLine.mend();
      }
    },
  },
  {
    code: 'padron_no_disponible',
    async request({ around, caller }) {
      await around.pool.query("UPDATE edition SET materializada_at = NULL WHERE register = 'padron_reducido'");
      // The catalogue is cached for 200 ms.
      await sleep(300);
      return caller.request(`/id/v1/ruc/${company}`);
    },
  },
];

interface TestPlan {
  rank: number;
  lookups: number;
  perMinute: number;
}

async function makePlan({ pool }: Surroundings, name: string, { rank, lookups, perMinute }: TestPlan): Promise<void> {
  await pool.query('INSERT INTO plan (name, rank, lookups_per_month, requests_per_minute) VALUES ($1, $2, $3, $4)', [
    name,
    rank,
    lookups,
    perMinute,
  ]);
}
