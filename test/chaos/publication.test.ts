import { expect, it } from 'vitest';
import { runChaos, victims } from './publication.ts';
import { withSeenLines } from './seen.ts';

// A smaller form of `npm run chaos -- publication`. The consumers die first: nobody takes their place until their
// session of 30 s has ended, so the others are killed before the edition is materialised, however fast the machine is.
it('kill -9 of worker, consumers, Kafka and ClickHouse in the middle of two publications changes nothing', async () => {
  const report = await withSeenLines((log) => runChaos(120_000, log, ['worker', 'clickhouse']));
  expect(report.faults).toEqual([]);
  const firstDay = report.kills.filter(({ day }) => day === 1);
  expect(firstDay.map(({ victim }) => victim)).toEqual([...victims]);
  for (const kill of firstDay) expect(kill.materialised).toBe(false);
  // The second day has only a few hundred changes, so the machine's speed decides how many victims die before it is
  // final.
  expect(report.kills.length).toBeGreaterThan(firstDay.length);
}, 900_000);
