import ICAL from 'ical.js';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { Addition } from '../../../../api/calendar/store.ts';
import type { DueDatesByGroup } from '../../../../api/calendar/types.ts';
import { holidaysAnswer, upcomingAnswer } from '../../../../schemas/http/calendar.ts';
import { type CalendarApp, sandboxToken, startCalendarApp, strangerToken } from '../../../support/api/calendar-app.ts';
import { tableOf2027 } from '../../../support/api/calendar-table.ts';
import { expectProblem, requestsOf } from '../../../support/api/process.ts';

let app: CalendarApp;
let get: ReturnType<typeof requestsOf>;

beforeAll(async () => {
  app = await startCalendarApp();
  get = requestsOf(app.url, sandboxToken);
});
afterAll(() => app.stop());

interface FeedEvent {
  uid: string;
  day: string;
  sequence: number;
  summary: string;
}

/** Reads the feed as a calendar program does, and checks the properties of every event. */
async function readFeed(target: string): Promise<FeedEvent[]> {
  const response = await get(target);
  expect(response.status).toBe(200);
  expect(response.headers.get('content-type')).toBe('text/calendar; charset=utf-8');
  const text = await response.text();
  expect(text.endsWith('\r\nEND:VCALENDAR\r\n')).toBe(true);
  for (const line of text.split('\r\n')) {
    expect(line).not.toContain('\n');
    // RFC 5545, section 3.1 limits octets, not characters.
    expect(Buffer.byteLength(line)).toBeLessThanOrEqual(75);
  }
  // Section 3.3.11 requires escaped commas and semicolons in texts.
  const unfolded = text.replaceAll('\r\n ', '');
  expect(unfolded).not.toMatch(/^(?:NAME|X-WR-CALNAME|X-WR-CALDESC|SUMMARY|DESCRIPTION):.*(?<!\\)[,;]/m);
  const feed = new ICAL.Component(ICAL.parse(text));
  expect(feed.getFirstPropertyValue('version')).toBe('2.0');
  expect(feed.getFirstPropertyValue('prodid')).toBeTruthy();
  return feed.getAllSubcomponents('vevent').map((component) => {
    const event = new ICAL.Event(component);
    expect(event.startDate.isDate).toBe(true);
    expect(event.duration.toSeconds()).toBe(86_400);
    expect(component.getFirstPropertyValue('dtstamp')).not.toBeNull();
    expect(component.getFirstPropertyValue('transp')).toBe('TRANSPARENT');
    const { uid, sequence, summary } = event;
    return { uid, day: event.startDate.toString(), sequence, summary };
  });
}

describe('holidays', () => {
  test('this year and the next, the same days as the route lists', async () => {
    const events = await readFeed('/id/v1/calendario/feriados.ics');
    const years = await Promise.all(
      [2026, 2027].map(async (year) =>
        holidaysAnswer.parse(await (await get(`/id/v1/calendario/feriados/${year}`)).json()),
      ),
    );
    const listed = years.flatMap(({ data }) => data);
    expect(events.map(({ day, summary }) => [day, summary])).toEqual(
      listed.map(({ fecha, nombre }) => [fecha, nombre]),
    );
    expect(new Set(events.map(({ uid }) => uid)).size).toBe(events.length);
    expect(events[0]).toMatchObject({ uid: 'feriado-2026-01-01@calendario.padron', sequence: 0 });
  });
});

describe('due dates', () => {
  test.each(['', '&buen_contribuyente=true'])(
    'from January to the end of coverage, as the route lists them%s',
    async (query) => {
      const events = await readFeed(`/id/v1/vencimientos.ics?digito=7${query}`);
      const pages = await Promise.all(
        ['2026-01-01', '2027-12-01'].map(async (desde) => {
          const target = `/id/v1/vencimientos/proximos?digito=7${query}&limite=24&desde=${desde}`;
          return upcomingAnswer.parse(await (await get(target)).json()).data;
        }),
      );
      const listed = new Map(pages.flat().map(({ periodo, vence }) => [periodo, vence]));
      expect(events.map(({ day }) => day)).toEqual([...listed.values()]);
      expect(events).toHaveLength(25);
      expect(new Set(events.map(({ uid }) => uid)).size).toBe(25);
    },
  );

  test('the same data give the same bytes', async () => {
    const target = '/id/v1/vencimientos.ics?digito=0';
    const first = await (await get(target)).text();
    app.setNow('2026-12-30T15:00:00Z');
    expect(await (await get(target)).text()).toBe(first);
    app.setNow('2026-11-27T15:00:00Z');
  });

  test('a date that moves keeps its event and raises the sequence, each time; others stay', async () => {
    const target = '/id/v1/vencimientos.ics?digito=9';
    const period = (events: FeedEvent[], wanted: string) => events.find(({ uid }) => uid.includes(wanted))!;
    const calculated = await readFeed(target);
    const old = period(calculated, '2027-03');
    expect(old).toMatchObject({ day: '2027-04-22', sequence: 0 });

    app.additions.push(tableWith(1, { '8-9': '2027-04-23', good_taxpayers: '2027-04-26' }));
    const moved = await waitForFeed(target, (events) => period(events, '2027-03').sequence === 1);
    expect(period(moved, '2027-03')).toMatchObject({ uid: old.uid, day: '2027-04-23' });
    const others = (events: FeedEvent[]) => events.filter(({ uid }) => uid !== old.uid);
    expect(others(moved)).toEqual(others(calculated));

    // The date is the first one again, but the sequence has grown.
    app.additions.push(tableWith(2, {}));
    const back = await waitForFeed(target, (events) => period(events, '2027-03').sequence === 2);
    expect(period(back, '2027-03')).toMatchObject({ uid: old.uid, day: old.day });
    app.additions.length = 0;
  });
});

describe('addresses of feeds', () => {
  const feeds = ['/id/v1/calendario/feriados.ics?', '/id/v1/vencimientos.ics?digito=3&'];

  test.each(feeds)('%s accepts the sandbox token in the address, and parameters of calendar programs', async (feed) => {
    const anonymous = requestsOf(app.url, null);
    expect((await anonymous(`${feed}token=${sandboxToken}`)).status).toBe(200);
    expect((await get(`${feed}nocache=17&_=1&fbclid=x`)).status).toBe(200);
    await expectProblem(await anonymous(feed), 'sin_token');
  });

  test.each(feeds)(
    '%s refuses any other token there, even beside a valid header, and repeats it nowhere',
    async (feed) => {
      for (const token of [strangerToken, 'otro', `${sandboxToken}&token=${strangerToken}`])
        for (const request of [get, requestsOf(app.url, null)]) {
          const problem = await expectProblem(await request(`${feed}token=${token}`), 'parametro_invalido');
          expect(JSON.stringify(problem)).not.toContain('pad_live');
        }
      expect(app.logLines()).not.toContain('pad_live');
      expect(app.logLines()).toContain('/id/v1/vencimientos.ics');
    },
  );
});

function tableWith(id: number, march: Partial<DueDatesByGroup>): Addition {
  const who = { addedBy: 'Ana', reason: null, addedAt: new Date('2026-11-27T14:00:00Z') };
  return { id, kind: 'table', value: tableOf2027(march), ...who };
}

async function waitForFeed(target: string, isThere: (events: FeedEvent[]) => boolean): Promise<FeedEvent[]> {
  return vi.waitFor(async () => {
    const events = await readFeed(target);
    expect(isThere(events)).toBe(true);
    return events;
  }, 20_000);
}
