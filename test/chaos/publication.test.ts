import { expect, it } from 'vitest';
import { runChaos, victims } from './publication.ts';

// Smaller than `npm run chaos -- publication`. The consumers die first: for their session of 30 s nobody takes their place,
// so the others are killed before the edition is materialised, however fast the machine is.
it('kill -9 of worker, consumers, Kafka and ClickHouse in the middle of two publications changes nothing', async () => {
  const report = await runChaos(120_000, () => undefined, ['worker', 'clickhouse']);
  expect(report.faults).toEqual([]);
  const firstDay = report.kills.filter(({ day }) => day === 1);
  expect(firstDay.map(({ victim }) => victim)).toEqual([...victims]);
  for (const kill of firstDay) expect(kill.materialised).toBe(false);
  // The second day is a few hundred changes: how many victims fall before it is final depends on the machine.
  expect(report.kills.length).toBeGreaterThan(firstDay.length);
}, 900_000);
