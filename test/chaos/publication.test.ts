import { expect, it } from 'vitest';
import { runChaos, victims } from './publication.ts';

// Smaller than `npm run chaos -- publication`: large enough that every victim is killed before the publication is final.
it('kill -9 of worker, consumers, Kafka and ClickHouse in the middle of two publications changes nothing', async () => {
  const report = await runChaos(60_000, () => undefined);
  expect(report.faults).toEqual([]);
  expect(report.kills.filter(({ day }) => day === 1).map(({ victim }) => victim)).toEqual([...victims]);
  for (const kill of report.kills) expect(kill.materialised).toBe(false);
  expect(report.kills.filter(({ day }) => day === 2).length).toBeGreaterThan(0);
}, 900_000);
