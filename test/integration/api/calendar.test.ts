import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, test, vi } from 'vitest';
import { revokeToken } from '../../../api/accounts/tokens.ts';
import { migratePostgres } from '../../../pipelines/runtime/migrate.ts';
import { makePool, type Pool } from '../../../pipelines/runtime/postgres.ts';
import { businessDayAnswer, scheduleAnswer } from '../../../schemas/http/calendar.ts';
import { sandboxToken, strangerToken } from '../../support/api/calendar-app.ts';
import { tableOf2027 } from '../../support/api/calendar-table.ts';
import { expectProblem, makeCaller, type RunningApi, requestsOf, startApi } from '../../support/api/process.ts';
import { type FreshDatabase, freshDatabase } from '../../support/engines/isolation.ts';
import { makeTcpProxy, type TcpProxy } from '../../support/engines/tcp-proxy.ts';
import { padronDocument, runCommand } from '../../support/process/command.ts';

// Few requests, since the sandbox token is limited per minute and address.
const soon = { timeout: 30_000, interval: 250 };

const closedPorts = {
  DATABASE_URL: 'postgres://padron@127.0.0.1:1/padron',
  CLICKHOUSE_URL: 'http://127.0.0.1:1/padron',
};

describe('with every engine down, from the start', () => {
  let api: RunningApi;
  beforeAll(async () => {
    api = await startApi({ ...closedPorts, TZ: 'UTC' });
  });
  afterAll(() => api.stop());

  test.each([
    'calendario/feriados/2026',
    'calendario/2026-07-27?sector=publico',
    'calendario/plazo?desde=2026-07-27&dias=5',
    'vencimientos/2026',
    'vencimientos/proximos?digito=3',
    'calendario/feriados.ics',
    'vencimientos.ics?digito=3',
  ])('%s answers from the release', async (target) => {
    for (const token of [sandboxToken, strangerToken])
      expect((await requestsOf(api.url, token)(`/id/v1/${target}`)).status).toBe(200);
    await expectProblem(await requestsOf(api.url, 'pad_live_otro')(`/id/v1/${target}`), 'token_invalido');
  });

  test('the sandbox token opens nothing else', async () => {
    await expectProblem(await requestsOf(api.url, sandboxToken)('/id/v1/ruc/20990000019'), 'token_sandbox');
  });

  test('neither a whole RUC nor a token in an address is in any log line', async () => {
    const get = requestsOf(api.url, sandboxToken);
    for (const route of ['vencimientos/proximos', 'vencimientos.ics'])
      await expectProblem(await get(`/id/v1/${route}?digito=10990000013`), 'ruc_no_admitido');
    await expectProblem(await get('/id/v1/vencimientos/proximos?digito=20131312955'), 'ruc_no_admitido');
    await expectProblem(await get(`/id/v1/calendario/feriados.ics?token=${strangerToken}`), 'parametro_invalido');
    // Log lines are written in blocks. Once the last request's line is there, all earlier ones are.
    await vi.waitFor(() => expect(api.output()).toMatch(/feriados\.ics"[^\n]*"code":"parametro_invalido"/), soon);
    expect(api.output()).toContain('"code":"ruc_no_admitido"');
    for (const secret of ['990000013', '131312955', 'pad_live', 'digito=']) expect(api.output()).not.toContain(secret);
  });
});

describe('what operators add', () => {
  let database: FreshDatabase;
  let line: TcpProxy;
  let pool: Pool;
  let api: RunningApi;
  let get: ReturnType<typeof requestsOf>;
  const folder = mkdtempSync(path.join(tmpdir(), 'padron-calendar-'));

  beforeAll(async () => {
    database = await freshDatabase(inject('endpoints'));
    await migratePostgres(database.DATABASE_URL);
    line = await makeTcpProxy(database.DATABASE_URL);
    pool = makePool(database.DATABASE_URL, 'test', 2);
    api = await startApi({ ...closedPorts, DATABASE_URL: line.url, CALENDAR_POLL_MS: '200' });
    get = requestsOf(api.url, sandboxToken);
  });
  afterAll(async () => {
    await api.stop();
    await Promise.all([line.stop(), pool.end()]);
    await database.drop();
    rmSync(folder, { recursive: true });
  });

  const environment = () => ({ PADRON_LOCAL_DIR: folder, DATABASE_URL: database.DATABASE_URL });
  const padron = <Answer>(...words: string[]) =>
    padronDocument<Answer>(['calendar', ...words], environment(), runCommand);
  const fileWith = (content: unknown) => {
    const file = path.join(folder, 'file.json');
    writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content));
    return file;
  };
  const decree = {
    ...{ decree: 'D.S. 999-2026-PCM', scope: 'national', taxBusinessDays: true, completesYear: 2027 },
    days: [{ date: '2027-04-22', name: 'Día no laborable de prueba' }],
  };
  const dayOf = async (date: string) =>
    businessDayAnswer.parse(await (await get(`/id/v1/calendario/${date}?sector=publico`)).json());
  const schedule = async () => scheduleAnswer.parse(await (await get('/id/v1/vencimientos/2027')).json());

  test('a decree is served soon with its time, and moves no due date, not even one on its day', async () => {
    const before = await schedule();
    expect(before.data.periodos[2]!.vencimientos['9']).toBe('2027-04-22');
    expect((await dayOf('2027-04-22')).data.habil).toBe(true);
    const added = await padron<{ added_at: string }>('add-decree', fileWith(decree), '--by', 'Ana Ruiz');
    expect(added).toMatchObject({ id: 1, added: true });
    const { data, meta } = await vi.waitFor(async () => {
      const answer = await dayOf('2027-04-22');
      expect(answer.data.habil).toBe(false);
      return answer;
    }, soon);
    expect(data.motivo).toBe('Día no laborable de prueba');
    expect(meta.no_laborables).toEqual({ desde: '2022-01-01', hasta: '2027-12-31', actualizado_en: added.added_at });
    expect((await schedule()).data).toEqual(before.data);
  });

  test('loading the same file again changes nothing; a corrected file of the same decree replaces it', async () => {
    expect(await padron('add-decree', fileWith(decree), '--by', 'Otra')).toMatchObject({ id: 1, added: false });
    const corrected = { ...decree, days: [{ date: '2027-04-23', name: 'Día no laborable de prueba' }] };
    await padron('add-decree', fileWith(corrected), '--reason', 'día equivocado');
    await vi.waitFor(async () => expect((await dayOf('2027-04-23')).data.habil).toBe(false), soon);
    expect((await dayOf('2027-04-22')).data.habil).toBe(true);
  });

  test('a published table wins over the rule, and the feed shows that a date moved', async () => {
    const table = tableOf2027({ '8-9': '2027-04-23', good_taxpayers: '2027-04-26' });
    await padron('add-table', fileWith(table), '--by', 'Ana Ruiz', '--reason', 'El Peruano');
    const { data } = await vi.waitFor(async () => {
      const answer = await schedule();
      expect(answer.data.periodos[2]!.estado).toBe('publicado');
      return answer;
    }, soon);
    expect(data.periodos[2]!.vencimientos).toMatchObject({ 7: '2027-04-21', 8: '2027-04-23', 9: '2027-04-23' });
    const feed = await (await get('/id/v1/vencimientos.ics?digito=9')).text();
    expect(feed).toMatch(/UID:vencimiento-2027-03-9@calendario\.padron\r\nSEQUENCE:1\r\n/);
  });

  test('the listing shows who added what and when, after the data of the release', async () => {
    const list = await padron<{ kind: string; added: Record<string, unknown> | null }[]>('list');
    expect(list.filter(({ added }) => added === null).map(({ kind }) => kind)).toContain('table');
    expect(list.filter(({ added }) => added !== null)).toMatchObject([
      { kind: 'decree', value: decree, added: { id: 1, by: 'Ana Ruiz', reason: null } },
      { kind: 'decree', added: { by: 'operator', reason: 'día equivocado' } },
      { kind: 'table', value: { year: 2027 }, added: { by: 'Ana Ruiz', reason: 'El Peruano' } },
    ]);
    const { stdout } = await runCommand(['calendar', 'list'], environment());
    expect(stdout).toMatch(/^decree\tD\.S\. 042-2025-PCM\t.*\trelease$/m);
    expect(stdout).toMatch(/^table\t2027\tCronograma de prueba 2027\t\d+: Ana Ruiz, .*-05:00\tEl Peruano$/m);
  });

  test.each([
    ['add-decree', { ...decree, scope: 'regional' }, /scope: must be "national"/],
    ['add-decree', { ...decree, taxBusinessDays: false }, /taxBusinessDays: must be true/],
    ['add-decree', '{"decree":', /is not JSON/],
    ['add-decree', 'x'.repeat(1024 * 1024 + 1), /more than 1048576 bytes/],
    ['add-table', tableOf2027({ '8-9': '2027-04-24' }), /2027-04-24 is no business day/],
    ['add-table', tableOf2027({ '8-9': '2027-04-20' }), /2027-04-20 is not after/],
  ])('%s refuses a bad file, and says why', async (verb, content, message) => {
    const { code, stdout, stderr } = await runCommand(['calendar', verb, fileWith(content)], environment());
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toMatch(message);
    expect((await pool.query('SELECT count(*) AS n FROM calendar_addition')).rows).toEqual([{ n: 3 }]);
  });

  test('a missing file is refused', async () => {
    const { code, stderr } = await runCommand(['calendar', 'add-table', path.join(folder, 'none.json')], environment());
    expect([code, stderr]).toEqual([1, expect.stringMatching(/cannot be read \(ENOENT\)/)]);
  });

  test('an account token opens the calendar, a revoked or unknown one does not', async () => {
    const caller = await makeCaller(pool, api.url, { plan: 'free' });
    expect((await caller.request('/id/v1/vencimientos/2026')).status).toBe(200);
    await revokeToken(pool, caller.token.split('_')[2]!);
    const other = await makeCaller(pool, api.url, { plan: 'free' });
    await revokeToken(pool, other.token.split('_')[2]!);
    await expectProblem(await other.request('/id/v1/vencimientos/2026'), 'token_revocado');
    await expectProblem(await requestsOf(api.url, strangerToken)('/id/v1/vencimientos/2026'), 'token_invalido');
  });

  test('without PostgreSQL the last known additions are served to any well-formed token; later new ones appear', async () => {
    await line.cut();
    expect((await dayOf('2027-04-23')).data.habil).toBe(false);
    await vi.waitFor(() => expect(api.output()).toContain('cannot be read'), soon);
    expect((await dayOf('2027-04-23')).data.habil).toBe(false);
    // A token that was not used while PostgreSQL answered, since a known state stays valid for a minute.
    const never = strangerToken.replace('0a', '0b');
    expect((await requestsOf(api.url, never)('/id/v1/vencimientos/2026')).status).toBe(200);
    await padron('add-decree', fileWith({ ...decree, decree: 'D.S. 998-2026-PCM' }));
    await line.mend();
    await vi.waitFor(async () => expect((await dayOf('2027-04-22')).data.habil).toBe(false), soon);
  });
});
