import fc from 'fast-check';
import { expect, test } from 'vitest';
import { decideGrant, type Funds, freeUnits } from '../../../../api/metering/grant.ts';

const nothing = { mes: 0, prepago: 0 };
const funds = (part: Partial<Funds>): Funds => ({
  limit: 10_000,
  used: 0,
  usedHere: 0,
  prepaid: 0,
  leased: nothing,
  leasedElsewhere: nothing,
  elsewhereLapsesInMs: 0,
  ...part,
});

test('a block where there is plenty, a share of the rest towards the end, what is missing at least', () => {
  expect(decideGrant(funds({}), 1, 120, false)).toEqual({ mes: 120, prepago: 0 });
  expect(decideGrant(funds({ used: 9_920 }), 1, 120, false)).toEqual({ mes: 10, prepago: 0 });
  expect(decideGrant(funds({ used: 9_920 }), 70, 120, false)).toEqual({ mes: 70, prepago: 0 });
});

test('the prepaid balance is opened once the month is used up, and gives only what the month lacks', () => {
  expect(decideGrant(funds({ used: 9_960, prepaid: 500 }), 100, 120, false)).toEqual({ mes: 40, prepago: 63 });
  expect(decideGrant(funds({ used: 10_000, prepaid: 500 }), 0, 120, false)).toEqual({ mes: 0, prepago: 0 });
});

test('while another process holds units of the month the prepaid balance stays shut, until it was asked for them', () => {
  const held = { mes: 5, prepago: 0 };
  const some = funds({ used: 9_995, prepaid: 500, leased: held, leasedElsewhere: held });
  expect(decideGrant(some, 1, 8, false)).toEqual(nothing);
  expect(decideGrant(some, 1, 8, true)).toEqual({ mes: 0, prepago: 8 });
});

test('a lowered plan or a late report leaves nothing, never less', () => {
  expect(freeUnits(funds({ used: 12_000, prepaid: -3 }))).toEqual(nothing);
});

test('never more than is free, and what is missing whenever it is there', () => {
  const count = fc.integer({ min: 0, max: 20_000 });
  fc.assert(
    fc.property(
      count,
      count,
      count,
      count,
      count,
      fc.boolean(),
      (limit, used, leased, prepaid, missing, isRecallOver) => {
        const some = funds({ limit, used, prepaid, leased: { mes: leased, prepago: 0 } });
        const free = freeUnits(some);
        const grant = decideGrant(some, missing, 120, isRecallOver);
        expect(grant.mes).toBeLessThanOrEqual(free.mes);
        expect(grant.prepago).toBeLessThanOrEqual(free.prepago);
        if (free.mes + free.prepago >= missing) expect(grant.mes + grant.prepago).toBeGreaterThanOrEqual(missing);
      },
    ),
  );
});
