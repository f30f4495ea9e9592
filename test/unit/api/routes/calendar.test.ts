import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import {
  businessDayAnswer,
  deadlineAnswer,
  holidaysAnswer,
  scheduleAnswer,
  upcomingAnswer,
} from '../../../../schemas/http/calendar.ts';
import type { ProblemCode } from '../../../../schemas/http/problem.ts';
import { type CalendarApp, sandboxToken, startCalendarApp, strangerToken } from '../../../support/api/calendar-app.ts';
import { expectProblem, requestsOf } from '../../../support/api/process.ts';

const timeZone = process.env.TZ;
let app: CalendarApp;
let get: ReturnType<typeof requestsOf>;

beforeAll(async () => {
  process.env.TZ = 'UTC';
  app = await startCalendarApp();
  get = requestsOf(app.url, sandboxToken);
});
beforeEach(() => app.setNow('2026-11-27T15:00:00Z'));
afterAll(async () => {
  await app.stop();
  if (timeZone === undefined) delete process.env.TZ;
  else process.env.TZ = timeZone;
});

const routes = [
  '/id/v1/calendario/feriados/2026',
  '/id/v1/calendario/2026-07-28',
  '/id/v1/calendario/plazo?desde=2026-07-27&dias=5',
  '/id/v1/vencimientos/2026',
  '/id/v1/vencimientos/proximos?digito=3',
  '/id/v1/calendario/feriados.ics',
  '/id/v1/vencimientos.ics?digito=3',
];

describe('what the routes answer', () => {
  test('holidays of a year', async () => {
    const { data, meta } = holidaysAnswer.parse(await (await get('/id/v1/calendario/feriados/2026')).json());
    expect(data.filter(({ tipo }) => tipo === 'feriado')).toHaveLength(16);
    expect(meta.cubre).toEqual({ desde: 1995, hasta: 2199 });
  });

  test.each([
    ['', { habil: true, motivo: null, dia_semana: 'lunes' }],
    ['?sector=general', { habil: true, motivo: null, dia_semana: 'lunes' }],
    ['?sector=publico', { habil: false, motivo: 'Día no laborable para el sector público', dia_semana: 'lunes' }],
  ])('a day of the public sector alone%s', async (query, expected) => {
    const { data } = businessDayAnswer.parse(await (await get(`/id/v1/calendario/2026-07-27${query}`)).json());
    expect(data).toEqual({ fecha: '2026-07-27', ...expected });
  });

  test.each([
    ['general', '2026-07-27'],
    ['publico', '2026-07-30'],
  ])('a deadline of one day in the calendar %s', async (sector, vence) => {
    const response = await get(`/id/v1/calendario/plazo?desde=2026-07-24&dias=1&sector=${sector}`);
    const { data } = deadlineAnswer.parse(await response.json());
    expect(data).toMatchObject({ desde: '2026-07-24', dias: 1, sector, vence });
  });

  test('a year of due dates', async () => {
    const { data } = scheduleAnswer.parse(await (await get('/id/v1/vencimientos/2026')).json());
    expect(data.periodos[0]).toMatchObject({
      periodo: '2026-01',
      estado: 'publicado',
      vencimientos: { 0: '2026-02-16' },
    });
    const next = scheduleAnswer.parse(await (await get('/id/v1/vencimientos/2027')).json());
    expect(new Set(next.data.periodos.map(({ estado }) => estado))).toEqual(new Set(['calculado']));
  });

  test('upcoming due dates by digit and for good taxpayers', async () => {
    const byDigit = upcomingAnswer.parse(await (await get('/id/v1/vencimientos/proximos?digito=3&limite=1')).json());
    expect(byDigit).toMatchObject({
      resumen: { digito: '3', buen_contribuyente: false, desde: '2026-11-27' },
      data: [{ periodo: '2026-11', vence: '2026-12-21', estado: 'publicado', dias_restantes: 24 }],
    });
    const good = '/id/v1/vencimientos/proximos?digito=3&buen_contribuyente=true&desde=2026-12-28&limite=24';
    const { resumen, data } = upcomingAnswer.parse(await (await get(good)).json());
    expect(resumen).toEqual({ digito: '3', buen_contribuyente: true, desde: '2026-12-28' });
    // One is due on the day itself. There are fewer than asked for, since coverage ends with the periods of 2027.
    expect(data[0]).toEqual({ periodo: '2026-11', vence: '2026-12-28', estado: 'publicado', dias_restantes: 0 });
    expect(data.at(-1)).toMatchObject({ periodo: '2027-12', estado: 'calculado' });
    expect(data).toHaveLength(14);
  });
});

describe('today is the date in Lima', () => {
  test.each([
    ['23:59', '2026-12-22T04:59:00Z', '2026-12-21', 0],
    ['00:01', '2026-12-22T05:01:00Z', '2026-12-22', 29],
  ])('at %s', async (_, now, desde, dias_restantes) => {
    app.setNow(now);
    const { resumen, data } = upcomingAnswer.parse(await (await get('/id/v1/vencimientos/proximos?digito=2')).json());
    expect([resumen.desde, data[0]?.dias_restantes]).toEqual([desde, dias_restantes]);
  });

  test.each([
    ['23:59', '2027-01-01T04:59:00Z', 2027, '2026-01-01'],
    ['00:01', '2027-01-01T05:01:00Z', 2028, '2027-01-01'],
  ])('at %s of New Year: what is covered, and where feeds begin', async (_, now, hasta, firstHoliday) => {
    app.setNow(now);
    const { meta } = scheduleAnswer.parse(await (await get('/id/v1/vencimientos/2026')).json());
    expect(meta.cubre).toEqual({ desde: 2025, hasta });
    expect((await get('/id/v1/vencimientos/2028')).status).toBe(hasta === 2028 ? 200 : 404);
    const feed = await (await get('/id/v1/calendario/feriados.ics')).text();
    expect(/^UID:feriado-([0-9-]+)@/m.exec(feed)?.[1]).toBe(firstHoliday);
  });
});

describe('caching', () => {
  test.each(routes)('%s: HEAD, and 304 for a current ETag', async (route) => {
    const first = await get(route);
    const etag = first.headers.get('etag')!;
    expect(first.status).toBe(200);
    expect(first.headers.get('cache-control')).toBe('private, max-age=60');
    expect(etag).toMatch(/^W\/"[\w-]{22}-2026-11-27"$/);
    const head = await get(route, { method: 'HEAD' });
    expect([head.status, await head.text(), head.headers.get('etag')]).toEqual([200, '', etag]);
    expect(head.headers.get('content-length')).toBe(first.headers.get('content-length'));
    expect(head.headers.get('content-type')).toBe(first.headers.get('content-type'));
    const again = await get(route, { headers: { 'if-none-match': etag } });
    expect([again.status, await again.text(), again.headers.get('etag')]).toEqual([304, '', etag]);
    app.setNow('2026-11-28T15:00:00Z');
    expect((await get(route, { headers: { 'if-none-match': etag } })).status).toBe(200);
    expect(await (await get(route, { method: 'POST' })).json()).toMatchObject({ code: 'metodo_no_permitido' });
  });

  const since = async (route: string, date: string, tags: Record<string, string> = {}) =>
    (await get(route, { headers: { 'if-modified-since': date, ...tags } })).status;

  // The process has served the calendar since 27 November, 10:00 in Lima.
  test.each(routes)('%s: 304 by its date alone until midnight in Lima', async (route) => {
    const [started, midnight] = ['Fri, 27 Nov 2026 15:00:00 GMT', 'Sat, 28 Nov 2026 05:00:00 GMT'];
    const first = await get(route);
    expect(first.headers.get('last-modified')).toBe(started);
    app.setNow('2026-11-28T04:59:59.999Z');
    expect(await since(route, started)).toBe(304);
    expect(await since(route, 'Fri, 27 Nov 2026 14:59:59 GMT')).toBe(200);
    expect(await since(route, started, { 'if-none-match': 'W/"other"' })).toBe(200);
    app.setNow('2026-11-28T05:00:00Z');
    expect(await since(route, started)).toBe(200);
    expect(await since(route, 'Sat, 28 Nov 2026 04:59:59 GMT')).toBe(200);
    expect(await since(route, midnight)).toBe(304);
    expect((await get(route)).headers.get('last-modified')).toBe(midnight);
  });

  test('an added decree changes the answer and the ETag, but no due date', async () => {
    app.setNow('2026-11-27T16:00:00.500Z');
    expect(await since('/id/v1/calendario/2027-07-30', 'Fri, 27 Nov 2026 16:00:00 GMT')).toBe(304);
    const dueDates = await (await get('/id/v1/vencimientos/proximos?digito=3')).json();
    const before = await get('/id/v1/calendario/2027-07-30?sector=publico');
    expect(await before.json()).toMatchObject({ data: { habil: true }, meta: { provisional: true } });
    app.additions.push({
      ...{ id: 1, kind: 'decree', addedBy: 'Ana', reason: null, addedAt: new Date('2026-11-27T14:00:00Z') },
      value: {
        ...{ decree: 'D.S. 999-2026-PCM', scope: 'national', taxBusinessDays: true, completesYear: 2027 },
        days: [{ date: '2027-07-30', name: 'Día no laborable' }],
      },
    });
    const after = await vi.waitFor(async () => {
      const response = await get('/id/v1/calendario/2027-07-30?sector=publico', {
        headers: { 'if-none-match': before.headers.get('etag')! },
      });
      expect(response.status).toBe(200);
      return businessDayAnswer.parse(await response.json());
    }, 20_000);
    expect(after.data).toMatchObject({ habil: false, motivo: 'Día no laborable' });
    // Another answer of 16:00:00 may be from before the decree, so this second no longer counts as current.
    expect(await since('/id/v1/calendario/2027-07-30', 'Fri, 27 Nov 2026 16:00:00 GMT')).toBe(200);
    expect(await since('/id/v1/calendario/2027-07-30', 'Fri, 27 Nov 2026 16:00:01 GMT')).toBe(304);
    expect(after.meta).toMatchObject({ provisional: false, actualizado_en: '2026-11-27T09:00:00-05:00' });
    const { data } = (await (await get('/id/v1/vencimientos/proximos?digito=3')).json()) as { data: unknown };
    expect(data).toEqual((dueDates as { data: unknown }).data);
    app.additions.pop();
  });
});

describe('what is refused', () => {
  const cases: [string, ProblemCode][] = [
    ['/id/v1/calendario/feriados/26', 'parametro_invalido'],
    ['/id/v1/calendario/feriados/20131312955', 'parametro_invalido'],
    ['/id/v1/calendario/feriados/1994', 'anio_no_disponible'],
    ['/id/v1/calendario/feriados/2200', 'anio_no_disponible'],
    ['/id/v1/calendario/feriados/2026?sector=publico', 'parametro_desconocido'],
    ['/id/v1/calendario/2026-02-29', 'fecha_invalida'],
    ['/id/v1/calendario/2026-7-28', 'fecha_invalida'],
    ['/id/v1/calendario/0000-01-01', 'fecha_invalida'],
    ['/id/v1/calendario/feriados', 'fecha_invalida'],
    ['/id/v1/calendario/1994-12-31', 'anio_no_disponible'],
    ['/id/v1/calendario/2026-07-28?sector=privado', 'parametro_invalido'],
    ['/id/v1/calendario/2026-07-28?fecha=2026-07-28', 'parametro_desconocido'],
    ['/id/v1/calendario/plazo', 'parametro_invalido'],
    ['/id/v1/calendario/plazo?desde=2026-07-28', 'parametro_invalido'],
    ['/id/v1/calendario/plazo?desde=2026-07-28&dias=0', 'parametro_invalido'],
    ['/id/v1/calendario/plazo?desde=2026-07-28&dias=1001', 'parametro_invalido'],
    ['/id/v1/calendario/plazo?desde=2026-07-28&dias=1.5', 'parametro_invalido'],
    ['/id/v1/calendario/plazo?desde=2026-07-28&dias=1&dias=2', 'parametro_invalido'],
    ['/id/v1/calendario/plazo?desde=hoy&dias=1', 'fecha_invalida'],
    ['/id/v1/calendario/plazo?desde=1994-12-31&dias=1', 'anio_no_disponible'],
    ['/id/v1/calendario/plazo?desde=2199-12-31&dias=1', 'anio_no_disponible'],
    ['/id/v1/calendario/plazo?desde=2026-07-28&dias=1&x=1', 'parametro_desconocido'],
    ['/id/v1/vencimientos/2024', 'anio_no_disponible'],
    ['/id/v1/vencimientos/2028', 'anio_no_disponible'],
    ['/id/v1/vencimientos/dosmil', 'parametro_invalido'],
    ['/id/v1/vencimientos/2026?digito=3', 'parametro_desconocido'],
    ['/id/v1/vencimientos/proximos', 'parametro_invalido'],
    ['/id/v1/vencimientos/proximos?digito=', 'parametro_invalido'],
    ['/id/v1/vencimientos/proximos?digito=a', 'parametro_invalido'],
    ['/id/v1/vencimientos/proximos?digito=1&digito=2', 'parametro_invalido'],
    ['/id/v1/vencimientos/proximos?digito=1&buen_contribuyente=si', 'parametro_invalido'],
    ['/id/v1/vencimientos/proximos?digito=1&limite=25', 'parametro_invalido'],
    ['/id/v1/vencimientos/proximos?digito=1&desde=2026-13-01', 'fecha_invalida'],
    ['/id/v1/vencimientos/proximos?digito=1&desde=2024-12-31', 'anio_no_disponible'],
    ['/id/v1/vencimientos/proximos?digito=1&cursor=x', 'parametro_desconocido'],
    ['/id/v1/vencimientos/proximos?digit=1', 'parametro_desconocido'],
    ['/id/v1/vencimientos.ics', 'parametro_invalido'],
  ];
  test.each(cases)('%s → %s', async (target, code) => {
    const problem = await expectProblem(await get(target), code);
    if (code === 'anio_no_disponible') {
      const desde = target.includes('vencimientos') ? 2025 : 1995;
      expect(problem.meta).toEqual({ cubre: { desde, hasta: desde === 2025 ? 2027 : 2199 } });
    }
  });

  // A RUC that starts with 10 contains the number of a person's identity document.
  test.each([
    'proximos?digito=20131312955',
    'proximos?digito=10990000013',
    'proximos?digito=99',
    'proximos?digito=1&digito=10990000013',
    'proximos?digito=10990000013&otro=1',
    'proximos?digito=%31%30990000013',
    '.ics?digito=10990000013',
  ])('a whole RUC where a digit is asked: vencimientos/%s', async (target) => {
    const response = await get(`/id/v1/vencimientos${target.startsWith('.') ? '' : '/'}${target}`);
    const problem = await expectProblem(response, 'ruc_no_admitido');
    const everything = `${JSON.stringify(problem)}${app.logLines()}`;
    for (const part of ['990000013', '131312955', '%31']) expect(everything).not.toContain(part);
  });
});

describe('tokens, while PostgreSQL does not answer', () => {
  test.each(routes)('%s: no token, a malformed one, the sandbox token, any well-formed one', async (route) => {
    const withToken = (token: string | null) => requestsOf(app.url, token)(route);
    await expectProblem(await withToken(null), 'sin_token');
    await expectProblem(await withToken('pad_live_x'), 'token_invalido');
    expect((await withToken(sandboxToken)).status).toBe(200);
    expect((await withToken(strangerToken)).status).toBe(200);
  });
});
