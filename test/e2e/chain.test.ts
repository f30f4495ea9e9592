import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Chain, padron, startChain } from '../../deploy/local/demo/chain.ts';
import { waitUntil } from '../../deploy/local/demo/output.ts';
import type { Notice } from '../../deploy/local/demo/receiver.ts';
import { faultsOfFields, fieldsOf } from '../../deploy/local/demo/record-fields.ts';
import { type TwoDays, writeTwoDays } from '../../deploy/local/demo/two-days.ts';
import { faultsOf, type Watched } from '../../deploy/local/demo/watched.ts';
import { processNames } from '../../deploy/local/product.ts';
import { taxpayerAnswer } from '../../schemas/http/taxpayer.ts';
import { limaDay } from '../../schemas/lima-time.ts';
import { registerNames } from '../../schemas/registers.ts';
import { faultsOfMetrics } from '../support/deploy/scraped.ts';
import { makeUsers } from '../support/engines/database-users.ts';
import { type CollectedSpan, type Collector, startCollector } from '../support/process/collector.ts';
import { differences, readHistory, readPublication, readState } from '../support/registers/state.ts';

// The demo's chain with every assertion: two days of all registers, changes through Kafka, state in ClickHouse, signed
// deliveries at a customer's receiver, look-ups with every field, and traces of all of it. It also checks what no log,
// metric, error, delivery or trace may contain.

const rows = 4_000;
const baselineEvents = 0;
/** Seven registers are published at once, each with its own processes. */
const publishTimeoutMs = 300_000;
let directory: string;
let chain: Chain;
let collector: Collector;
let days: TwoDays;
let watched: Watched[];
let person: { ruc: string; name: string };
const answers: string[] = [];

beforeAll(async () => {
  directory = mkdtempSync(path.join(tmpdir(), 'padron-e2e-'));
  days = await writeTwoDays(path.join(directory, 'site'), rows);
  watched = days.watched;
  person = await personWhoseRowChanges();
  collector = await startCollector();
  chain = await startChain({
    directory: path.join(directory, 'chain'),
    log: () => undefined,
    environment: collector.environment,
    // The processes run with a user that owns nothing, and only the migrations with the owner.
    prepare: ({ endpoints }) => makeUsers(endpoints.DATABASE_URL),
  });
}, 180_000);

afterAll(async () => {
  await chain?.stop();
  await collector?.close();
  rmSync(directory, { recursive: true, force: true });
}, 60_000);

async function personWhoseRowChanges() {
  const second = await readPublication(days.second.daily.path);
  const change = days.second.daily.changes.find(({ op, ruc }) => op === 'u' && ruc.startsWith('10'));
  return { ruc: change!.ruc, name: second.get(change!.ruc)![0]! };
}

describe('before anything is published', () => {
  it('a look-up is 503, never 404', async () => {
    const { status, body } = await chain.customer.lookUp(watched[0]!.ruc);
    expect(status).toBe(503);
    expect(body).toMatchObject({ code: 'padron_no_disponible' });
  });

  it('the api is up and says which registers its look-ups wait for', async () => {
    expect(await chain.product.awaits()).toMatch(/padron_reducido.*agentes_retencion.*buenos_contribuyentes/);
  });

  it('a customer subscribes', async () => {
    await chain.customer.createList(
      'Proveedores',
      watched.map(({ ruc }) => ruc),
    );
    const webhook = await chain.customer.createWebhook(`${chain.receiver.origin}/avisos`);
    chain.receiver.trust(webhook.secreto);
  });
});

describe('the first publications', () => {
  it(
    'become edition 1 of each register: every row a baseline, no event',
    async () => {
      const rows = await chain.publishDay(days.first);
      expect(rows.map(({ register, state, fecha_dato }) => ({ register, state, fecha_dato }))).toEqual(
        days.first.files.map(({ register, fechaDato }) => ({ register, state: 'publicada', fecha_dato: fechaDato })),
      );
      expect(rows[0]).toMatchObject({ rows: days.first.daily.rows, rejected: 0, duplicates: 0 });
      expect(rows.filter(({ rejected }) => rejected > 0)).toEqual([]);
      expect((await chain.customer.client.verEventos({ limite: 500 })).data).toHaveLength(baselineEvents);
      expect(chain.receiver.notices).toHaveLength(0);
    },
    publishTimeoutMs,
  );

  it('leave a state equal to the files and no history', async () => {
    const { CLICKHOUSE_URL } = chain.stack.endpoints;
    expect(differences(await readPublication(days.first.daily.path), await readState(CLICKHOUSE_URL))).toEqual([]);
    for (const { register } of days.first.files) expect(await readHistory(CLICKHOUSE_URL, register)).toEqual([]);
    expect(await chain.product.awaits()).toBeNull();
  });

  it('published again unchanged makes no edition', async () => {
    expect(await padron(['publications', 'run', 'agentes_retencion', '--wait'], chain.environment)).toMatchObject({
      outcome: 'nothing_new',
      publication: { state: 'publicada' },
    });
    expect(await padron<unknown[]>(['editions', 'list'], chain.environment)).toHaveLength(registerNames.length);
  });

  it('a company that is on no list is reported as such, with the dates of the lists', async () => {
    const { status, body } = await chain.customer.lookUp(days.complete);
    expect(status).toBe(200);
    expect(body.data).toMatchObject({ es_agente_retencion: false });
    const date = limaDay(days.first.lastModified);
    expect(body.meta?.fecha_padrones).toEqual({ agentes_retencion: date, buenos_contribuyentes: date });
  });
});

describe('the next publications', () => {
  it(
    'become edition 2 with exactly the true changes',
    async () => {
      const rows = await chain.publishDay(days.second);
      expect(rows.map(({ state }) => state)).toEqual(days.second.files.map(() => 'publicada'));
      const { CLICKHOUSE_URL } = chain.stack.endpoints;
      const [before, after] = [
        await readPublication(days.first.daily.path),
        await readPublication(days.second.daily.path),
      ];
      expect(differences(after, await readState(CLICKHOUSE_URL))).toEqual([]);
      const history = await readHistory(CLICKHOUSE_URL, 'padron_reducido');
      expect(history.map(({ ruc, op }) => `${op} ${ruc}`)).toEqual(
        days.second.daily.changes.map(({ ruc, op }) => `${op} ${ruc}`),
      );
      for (const change of history) {
        expect(change.edition).toBe(2);
        expect(change.before).toEqual(before.get(change.ruc) ?? null);
        expect(change.after).toEqual(after.get(change.ruc) ?? null);
      }
    },
    publishTimeoutMs,
  );

  it.each(['agentes_retencion', 'buenos_contribuyentes'] as const)(
    'of %s change who entered and who left',
    async (list) => {
      const { entered, left } = days.listChanges[list];
      const history = await readHistory(chain.stack.endpoints.CLICKHOUSE_URL, list);
      const found = (op: string) => history.filter((change) => change.op === op).map(({ ruc }) => ruc);
      expect(found('c')).toEqual([...entered].sort());
      expect(found('d')).toEqual([...left].sort());
      expect(history).toHaveLength(entered.length + left.length);
    },
  );

  it('of the sanctioned: one supplier more, and one sanction more of a known one', async () => {
    const history = await readHistory(chain.stack.endpoints.CLICKHOUSE_URL, 'sancionados');
    expect(history.map(({ op }) => op).sort()).toEqual(['c', 'u']);
    const { before, after } = history.find(({ op }) => op === 'u')!;
    const sanctions = (row: string[] | null) => JSON.parse(row![1]!) as { resolucion: string }[];
    expect(sanctions(after)).toHaveLength(sanctions(before).length + 1);
  });

  it('sends each expected delivery, verified, after the look-up shows the new state, and no other', async () => {
    const expected = watched.filter((company) => company.expected !== null).length;
    await waitUntil(() => chain.received.length >= expected, 30_000);
    expect(faultsOf(watched, chain.received)).toEqual([]);
    expect(chain.received).toHaveLength(expected);
  });

  it('deliveries say what the specification says', () => {
    for (const notice of chain.receiver.notices) expectSpecifiedNotice(notice);
  });

  it('history of events has the same, each delivered', async () => {
    const events = (await chain.customer.client.verEventos({ limite: 500 })).data;
    expect(events.map(({ evento, datos }) => `${evento} ${datos.ruc}`).sort()).toEqual(
      chain.received.map(({ evento, ruc }) => `${evento} ${ruc}`).sort(),
    );
    for (const event of events) expect(event).toMatchObject({ entregas: [{ estado: 'entregada' }] });
  });

  it('look-ups answer by their schema, every field with the date of its register', async () => {
    const lookup = await chain.customer.lookUp(days.complete);
    expect(lookup.status).toBe(200);
    taxpayerAnswer.parse(lookup.body);
    const dates = new Map<string, string>(days.second.files.map(({ register, fechaDato }) => [register, fechaDato]));
    expect(faultsOfFields(fieldsOf(lookup), dates)).toEqual([]);
    expect(lookup.body.meta?.fecha_dato).toBe(limaDay(days.second.lastModified));
    expect(lookup.body.data).toMatchObject({ es_agente_retencion: true });
    const unlisted = await chain.customer.lookUp(formerGoodTaxpayer().ruc);
    expect(unlisted.body.data).toMatchObject({ es_buen_contribuyente: false });
  });

  it('a RUC that left the daily register is a 404 of a dated edition', async () => {
    const gone = watched.find(({ expected }) => expected?.evento === 'ruc.baja')!;
    const missing = await chain.customer.lookUp(gone.ruc);
    expect(missing.status).toBe(404);
    expect(missing.body).toMatchObject({ encontrado: false, meta: { fecha_dato: limaDay(days.second.lastModified) } });
  });
});

describe('the operator', () => {
  it('reports that state and history equal the change files, and the state the publications', async () => {
    const reports = await padron<{ register: string; edition: number; equal: boolean }[]>(
      ['verify'],
      chain.environment,
    );
    expect(reports.map(({ register, edition, equal }) => ({ register, edition, equal }))).toEqual(
      registerNames.map((register) => ({ register, edition: 2, equal: true })),
    );
  });
});

describe('the traces', () => {
  it('lead from a delivery to the batches and the steps of its edition, and to the runs of both', async () => {
    const notice = chain.receiver.notices[0]!;
    const [attempt] = await collector.find({ 'padron.delivery': notice.deliveryId });
    expect(attempt).toMatchObject({ service: 'padron-worker', attributes: { 'http.response.status_code': 204 } });
    const edition = {
      'padron.register': attempt!.attributes['padron.register'],
      'padron.edition': attempt!.attributes['padron.edition'],
    };
    expect(edition['padron.edition']).toBe(2);
    const ofEdition = await collector.find(edition);
    const batches = ofEdition.filter(({ service }) => service === 'padron-consumers');
    const groups = new Set(batches.map(({ attributes }) => attributes['messaging.consumer.group.name']));
    expect(groups.size).toBe(2);
    const steps = ofEdition.filter(({ attributes }) => 'temporal.run_id' in attributes);
    expect(new Set(steps.map(({ name }) => name))).toEqual(
      new Set(['publishEdition', 'awaitMaterialised', 'awaitNotified']),
    );
    const [{ attributes: step }] = steps as [CollectedSpan];
    expect(step['temporal.workflow_id']).toBe(`publish/${edition['padron.register']}`);
    // The run leads to the spans of the edition's own publication.
    const ofRun = await collector.find({ 'temporal.run_id': step['temporal.run_id'] });
    expect(ofRun.map(({ name }) => name)).toEqual(expect.arrayContaining(['comparePublication', 'freezePublication']));
    expect(ofRun.every(({ attributes }) => attributes['padron.register'] === edition['padron.register'])).toBe(true);
  });
});

describe('natural persons', () => {
  it('are answered only under a contract', async () => {
    const refused = await chain.customer.lookUp(person.ruc);
    expect(refused.status).toBe(403);
    answers.push(JSON.stringify(refused.body));
    const account = await padron<{ id: number }>(
      ['accounts', 'create', '--name', 'Con contrato', '--plan', 'free', '--contract', 'CT-2026-001'],
      chain.environment,
    );
    const { token } = await padron<{ token: string }>(
      ['tokens', 'create', '--account', String(account.id)],
      chain.environment,
    );
    const response = await fetch(`${chain.product.apiUrl}/id/v1/ruc/${person.ruc}`, {
      headers: { authorization: `Bearer ${token}` },
    });
    expect(response.status).toBe(200);
    expect(response.headers.get('cache-control')).toBe('no-store');
    expect(((await response.json()) as { data: { nombre: string } }).data.nombre).toBe(person.name);
  });

  it('leave no name and no RUC in any log, metric, error, delivery or trace', async () => {
    answers.push(...(await scrapeAll()));
    for (const notice of chain.receiver.notices) answers.push(notice.raw.toString('utf8'));
    const texts = [
      collector.text(),
      ...answers,
      ...filesBelow(chain.stack.directory, /logs/).map((file) => readFileSync(file, 'latin1')),
    ];
    expect(texts.length).toBeGreaterThan(8);
    for (const secret of [person.ruc, person.name, chain.token.split('_').at(-1)!]) {
      expect(texts.filter((text) => text.includes(secret))).toEqual([]);
    }
  });
});

describe('metrics', () => {
  it('are all that rules and dashboards read, with good names and few lines', async () => {
    expect(faultsOfMetrics(await scrapeAll())).toEqual([]);
  });

  it('show a chain that is well', async () => {
    const text = (await scrapeAll()).join('\n');
    const values = [...text.matchAll(/^(padron_ready|padron_engine_up)\{.*\} (\S+)$/gm)];
    expect(values.length).toBe(3 + 2 + 3 + 4);
    expect(values.filter(([, , value]) => value !== '1')).toEqual([]);
  });
});

function scrapeAll(): Promise<string[]> {
  return Promise.all(
    processNames.map(async (name) => (await fetch(`${chain.product.healthUrls[name]}/metrics`)).text()),
  );
}

function expectSpecifiedNotice({ headers, body, deliveryId }: Notice): void {
  const notice = body as Record<string, unknown>;
  expect(Object.keys(notice).sort()).toEqual([
    'correccion',
    'datos',
    'evento',
    'id',
    'ocurrido_en',
    'posicion',
    'watchlist',
  ]);
  expect(headers['x-service-event']).toBe(notice.evento);
  expect(headers['webhook-id']).toBe(deliveryId);
  expect(headers['x-service-signature']).toMatch(/^v1,[A-Za-z0-9+/]{43}=$/);
  expect(headers['webhook-signature']).toBe(headers['x-service-signature']);
  expect(headers['webhook-timestamp']).toBe(headers['x-service-timestamp']);
  expect(headers['user-agent']).toMatch(/^Padron-Webhooks\//);
  expect(notice.ocurrido_en).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?-05:00$/);
  expect(Object.keys(notice.datos as object).sort()).toEqual(['antes', 'campo', 'despues', 'fecha_dato', 'ruc']);
  expect(notice.watchlist).toMatchObject({ nombre: 'Proveedores', referencia: 'demo' });
}

function formerGoodTaxpayer(): Watched {
  return watched.find(({ expected }) => expected?.evento === 'ruc.buen_contribuyente_cambiado')!;
}

function filesBelow(folder: string, pattern: RegExp): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((name) => path.join(folder, name))
    .filter((file) => pattern.test(file) && statSync(file).isFile());
}
