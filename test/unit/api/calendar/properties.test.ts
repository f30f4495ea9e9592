import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { makeCalendar } from '../../../../api/calendar/calendar.ts';
import { shippedCalendar } from '../../../../api/calendar/data/shipped.ts';
import { toDate, toDayNumber } from '../../../../api/calendar/days.ts';
import type { Decree } from '../../../../api/calendar/types.ts';
import { digits, sectors } from '../../../../schemas/http/calendar.ts';
import { answered, calendar, today } from './answers.ts';

const first = toDayNumber('1995-01-01');
const last = toDayNumber('2195-12-31');
const day = fc.integer({ min: first, max: last }).map(toDate);
const sector = fc.constantFrom(...sectors);
const decree: fc.Arbitrary<Decree> = fc.record({
  decree: fc.constant('D.S. 001-2027-PCM'),
  scope: fc.constant('national' as const),
  taxBusinessDays: fc.constant(true as const),
  days: fc.array(fc.record({ date: day, name: fc.constant('Día no laborable') }), { minLength: 1, maxLength: 40 }),
  completesYear: fc.option(fc.integer({ min: 1995, max: 2199 })),
});
const withDecrees = (more: Decree[]) =>
  makeCalendar({ ...shippedCalendar, decrees: [...shippedCalendar.decrees, ...more] });

describe('a due date', () => {
  it('is always a business day, after its period and in order', () => {
    const question = fc.record({ digit: fc.constantFrom(...digits), goodTaxpayer: fc.boolean() });
    const clock = fc.integer({ min: toDayNumber('2026-01-01'), max: toDayNumber('2080-12-31') }).map(toDate);
    fc.assert(
      fc.property(question, clock, (asked, now) => {
        const { dueDates } = answered(calendar.dueDatesFrom({ ...asked, from: now, today: now }));
        expect(dueDates.length).toBeGreaterThan(11);
        for (const { due, period } of dueDates) {
          expect(answered(calendar.dayOf(due, 'general')).data.habil).toBe(true);
          expect(due > period && due >= now).toBe(true);
        }
        expect(dueDates.map(({ due }) => due)).toEqual(dueDates.map(({ due }) => due).sort());
      }),
    );
  });

  it('is changed by no decree', () => {
    const years = [2025, 2026, 2027, 2028].map((year) => answered(calendar.dueDates(year, '2027-06-30')).data);
    fc.assert(
      fc.property(fc.array(decree, { maxLength: 5 }), (more) => {
        const wider = withDecrees(more);
        for (const data of years) expect(answered(wider.dueDates(data.anio, '2027-06-30')).data).toEqual(data);
      }),
    );
  });
});

describe('a deadline', () => {
  it('minus the skipped days counts exactly its days, and ends on a business day', () => {
    fc.assert(
      fc.property(day, fc.integer({ min: 1, max: 1_000 }), sector, fc.array(decree), (from, days, who, more) => {
        const wider = withDecrees(more);
        const outcome = wider.deadline(from, days, who);
        if (!outcome.ok) return;
        const { vence, saltados } = outcome.data;
        expect(toDayNumber(vence) - toDayNumber(from) - saltados.length).toBe(days);
        expect(answered(wider.dayOf(vence, who)).data.habil).toBe(true);
        for (const { fecha, motivo } of saltados) {
          expect(from < fecha && fecha < vence).toBe(true);
          expect(answered(wider.dayOf(fecha, who)).data).toMatchObject({ habil: false, motivo });
        }
      }),
    );
  });

  it('of the public sector is never sooner than the general one, which no decree moves', () => {
    fc.assert(
      fc.property(day, fc.integer({ min: 1, max: 300 }), fc.array(decree), (from, days, more) => {
        const wider = withDecrees(more);
        const general = answered(wider.deadline(from, days, 'general')).data;
        expect(general).toEqual(answered(calendar.deadline(from, days, 'general')).data);
        const publico = wider.deadline(from, days, 'publico');
        if (publico.ok) expect(publico.data.vence >= general.vence).toBe(true);
      }),
    );
  });
});

describe('the list of a year', () => {
  it('agrees with the days one by one', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1995, max: 2195 }), fc.array(decree), (year, more) => {
        const wider = withDecrees(more);
        const { data } = answered(wider.holidaysOf(year));
        const listed = new Map(data.map((entry) => [entry.fecha, entry]));
        for (let at = toDayNumber(`${year}-01-01`); at <= toDayNumber(`${year}-12-31`); at += 1) {
          const date = toDate(at);
          const { habil, motivo, dia_semana } = answered(wider.dayOf(date, 'publico')).data;
          const entry = listed.get(date);
          expect(motivo).toBe(entry?.nombre ?? (habil ? null : dia_semana));
          const forTax = answered(wider.dayOf(date, 'general')).data.habil;
          if (entry !== undefined) expect(entry.habil_tributario).toBe(forTax);
        }
      }),
      { numRuns: 30 },
    );
  });

  it('stays for the years loaded, whatever a decree of a far year completes', () => {
    fc.assert(
      fc.property(fc.array(decree, { maxLength: 3 }), (more) => {
        expect(answered(withDecrees(more).holidaysOf(2024)).meta.provisional).toBe(false);
        expect(answered(withDecrees(more).dayOf(today, 'publico')).meta.provisional).toBe(false);
      }),
    );
  });
});
