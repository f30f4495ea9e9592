import { expect, it } from 'vitest';
import { type DeliveryLedger, faultsOf } from './delivery-ledger.ts';

const good: DeliveryLedger = {
  expected: 10_000,
  arrived: 10_010,
  lost: [],
  uncalledFor: [],
  repeatedByKill: 10,
  repeatedUnexplained: [],
  unrecorded: [],
};

it('a run is good with nothing lost and one delivery in a thousand repeated by kills', () => {
  expect(faultsOf(good)).toEqual([]);
});

it.each<[Partial<DeliveryLedger>, string]>([
  [{ lost: ['en_1'] }, 'lost: en_1'],
  [{ uncalledFor: ['en_1'] }, 'uncalled for: en_1'],
  [{ unrecorded: ['en_1'] }, 'not recorded as delivered: en_1'],
  [{ repeatedByKill: 0, repeatedUnexplained: ['en_1'] }, 'repeated without a kill that explains it: en_1'],
  [{ repeatedByKill: 11 }, '0.110 % of the deliveries repeated, limit 0.100 %'],
])('%o is a fault', (found, fault) => {
  expect(faultsOf({ ...good, ...found })).toEqual([fault]);
});

it('a short run is not judged by the share of what its kills found in flight', () => {
  expect(faultsOf({ ...good, expected: 1_000 })).toEqual([]);
});
