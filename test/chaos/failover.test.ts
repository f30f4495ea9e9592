import { expect, it } from 'vitest';
import { faultsOf } from './delivery-ledger.ts';
import { runFailover } from './failover.ts';
import { withSeenLines } from './seen.ts';

// The short form of `npm run chaos -- failover`, with the hardest kind: no packet says that the primary is lost.
it('a lost primary of PostgreSQL loses no delivery and charges nothing twice; its standby serves', async () => {
  const load = { customers: 5, companies: 4, editionEverySeconds: 1, lookUpsPerSecond: 10 };
  const report = await withSeenLines((log) => runFailover({ kinds: ['silent'], betweenSeconds: 3, ...load }, log));
  expect([...faultsOf(report.ledger), ...report.faults]).toEqual([]);
  expect(report.ledger.expected).toBeGreaterThan(100);
  expect(report.quota.batches).toBeGreaterThan(10);
}, 900_000);
