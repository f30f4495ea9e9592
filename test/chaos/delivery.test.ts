import { expect, it } from 'vitest';
import { deliveryVictims, runDeliveryChaos } from './delivery.ts';
import { faultsOf } from './delivery-ledger.ts';
import { withSeenLines } from './seen.ts';

// The short form of `npm run chaos -- delivery`: it kills every victim once.
it('kill -9 of worker, consumers, Kafka, PostgreSQL, Temporal and receiver under load loses no delivery', async () => {
  const options = { killEverySeconds: 3, editionEverySeconds: 3, customers: 10, companies: 5 };
  const { kills, ledger } = await withSeenLines((log) => runDeliveryChaos({ ...options, seconds: 18 }, log));
  expect(kills.map(({ victim }) => victim)).toEqual([...deliveryVictims]);
  expect(ledger.expected).toBeGreaterThan(100);
  expect(faultsOf(ledger)).toEqual([]);
}, 900_000);
