import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { ClickHouseClient } from '../../pipelines/runtime/clickhouse.ts';
import type { Pool } from '../../pipelines/runtime/postgres.ts';

const shownTables = 12;

/** Prints how many bytes each engine's folder, and each large table of ClickHouse and PostgreSQL, has on disk. */
export async function printStoreSizes(
  title: string,
  { directory, clickhouse, pool }: { directory: string; clickhouse: ClickHouseClient; pool: Pool },
): Promise<void> {
  console.log(`\n${title}: MB on disk`);
  for (const entry of readdirSync(directory, { withFileTypes: true })) {
    if (entry.isDirectory()) show(entry.name, bytesBelow(join(directory, entry.name)));
  }
  const parts = await clickhouse.query({
    query: `SELECT table AS name, sum(rows) AS rows, sum(bytes_on_disk) AS bytes FROM system.parts
            WHERE active AND database = currentDatabase() GROUP BY table ORDER BY bytes DESC LIMIT ${shownTables}`,
    format: 'JSONEachRow',
  });
  for (const { name, rows, bytes } of await parts.json<{ name: string; rows: string; bytes: string }>()) {
    show(`clickhouse ${name}`, Number(bytes), Number(rows));
  }
  // A partition counts for its table, and the indexes with the rows.
  const { rows: tables } = await pool.query<{ name: string; bytes: number; rows: number }>(
    `SELECT coalesce(parent.relname, c.relname) AS name, sum(pg_total_relation_size(c.oid))::float8 AS bytes,
       sum(greatest(s.n_live_tup, 0))::float8 AS rows
     FROM pg_class c JOIN pg_stat_user_tables s ON s.relid = c.oid
     LEFT JOIN pg_inherits i ON i.inhrelid = c.oid LEFT JOIN pg_class parent ON parent.oid = i.inhparent
     GROUP BY 1 ORDER BY 2 DESC LIMIT $1`,
    [shownTables],
  );
  for (const { name, bytes, rows } of tables) show(`postgres ${name}`, bytes, rows);
}

function show(name: string, bytes: number, rows = 0): void {
  const each =
    rows === 0 ? '' : `${rows.toLocaleString('en').padStart(14)} rows, ${(bytes / rows).toFixed(1)} bytes each`;
  console.log(`  ${name.padEnd(36)} ${(bytes / 1e6).toFixed(1).padStart(10)} ${each}`);
}

function bytesBelow(folder: string): number {
  let sum = 0;
  for (const entry of readdirSync(folder, { withFileTypes: true, recursive: true })) {
    // A file may go away while an engine runs.
    // Kafka's indexes are long files with few blocks.
    if (entry.isFile())
      sum += (statSync(join(entry.parentPath, entry.name), { throwIfNoEntry: false })?.blocks ?? 0) * 512;
  }
  return sum;
}
