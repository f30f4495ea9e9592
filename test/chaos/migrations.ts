import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { startStack } from '../../deploy/local/stack.ts';
import { freshTopicPrefix } from '../support/engines/isolation.ts';
import { CountedMigration, type KillPoint } from '../support/migrations/killed-command.ts';
import { numberOption } from '../support/process/named-runs.ts';
import { conclude } from './conclude.ts';

export interface MigrationReport {
  /** How many kills there were in each store. */
  kills: Record<KillPoint['store'], number>;
  /** The kills after which the repeated command did not end with the schema of an undisturbed run. */
  faults: string[];
}

const logEvery = 20;

/**
 * Kills `padron migrate` with SIGKILL after each statement that it sends to PostgreSQL and ClickHouse, each time on
 * empty stores of their own, and runs the command again. Schemas and numbers of rows must be those of an undisturbed
 * run.
 * @param every kills after each n-th statement only
 * @param from number of the first statement after which it kills, from 1
 */
export async function runMigrationChaos(
  { every, from }: { every: number; from: number },
  log: (line: string) => void,
): Promise<MigrationReport> {
  const directory = mkdtempSync(path.join(tmpdir(), 'padron-chaos-'));
  const engines = ['postgres', 'kafka', 'registry', 'clickhouse'] as const;
  const stack = await startStack({ directory: path.join(directory, 'stack'), engines, log });
  try {
    const environment = {
      PADRON_LOCAL_DIR: directory,
      KAFKA_TOPIC_PREFIX: freshTopicPrefix(),
      ARCHIVE_URL: pathToFileURL(path.join(directory, 'archive')).href,
    };
    const onEmptyStores = () => CountedMigration.onEmptyStores(stack.endpoints, environment);
    const undisturbed = await onEmptyStores();
    const first = await undisturbed.run();
    if (first.code !== 0) throw new Error(`the undisturbed run failed: ${first.stderr}`);
    const wanted = await undisturbed.dump();
    const report: MigrationReport = { kills: { PostgreSQL: 0, ClickHouse: 0 }, faults: [] };
    const chosen = undisturbed.points.slice(from - 1).filter((_, place) => place % every === 0);
    log(`the undisturbed run sent ${undisturbed.points.length} statements; kills to do: ${chosen.length}`);
    for (const point of chosen) {
      const migration = await onEmptyStores();
      await migration.runKilled(point);
      const again = await migration.run();
      const found = await migration.dump();
      await migration.drop();
      report.kills[point.store] += 1;
      const fault = again.code === 0 ? differenceOf(wanted, found) : again.stderr;
      if (fault !== null) report.faults.push(`${point.store}, after "${point.statement}": ${fault}`);
      const done = report.kills.PostgreSQL + report.kills.ClickHouse;
      if (done % logEvery === 0) log(`${done} kills, ${report.faults.length} faults`);
    }
    return report;
  } finally {
    await stack.stop();
    rmSync(directory, { recursive: true, force: true });
  }
}

function differenceOf(wanted: readonly string[], found: readonly string[]): string | null {
  const missing = wanted.filter((line) => !found.includes(line));
  const more = found.filter((line) => !wanted.includes(line));
  if (missing.length + more.length === 0 && wanted.length === found.length) return null;
  return `missing ${JSON.stringify(missing.slice(0, 3))}, too many ${JSON.stringify(more.slice(0, 3))}`;
}

/**
 * `--every N` (1), `--from N` (1). Kills -9 `padron migrate` after each Nth statement that it sends to PostgreSQL and
 * ClickHouse, each time on empty stores, and runs it again. `--from` goes on with a run that was ended. Schemas must be
 * those of an undisturbed run. Exit code 0 only if they are.
 */
export async function run(args: string[]): Promise<void> {
  const startedAt = Date.now();
  const { kills, faults } = await runMigrationChaos(
    { every: numberOption(args, 'every', 1), from: numberOption(args, 'from', 1) },
    console.log,
  );
  console.table(kills);
  conclude(faults, startedAt);
}
