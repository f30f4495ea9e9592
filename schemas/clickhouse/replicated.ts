import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/*
 * The migrations for a ClickHouse cluster that replicates by itself, with a keeper. We never ran them on such a
 * cluster: a test has ClickHouse's parser read each statement and compares them with a file.
 */

/**
 * Makes each table of a migration a replicated one. The engines get no path and no replica name: a database of the
 * engine Replicated gives them, and replicates the statement itself, so ON CLUSTER is not used either.
 */
export function replicatedSql(sql: string): string {
  return sql.replace(/\bENGINE\s*=\s*(?!Replicated)(\w*MergeTree)\b/g, 'ENGINE = Replicated$1');
}

/** The engine of a database that a migration makes; undefined leaves it to the server. */
export function databaseEngineOf(
  database: string,
  { databaseEngine, isReplicated }: { databaseEngine?: string | undefined; isReplicated: boolean },
): string | undefined {
  if (databaseEngine !== undefined || !isReplicated) return databaseEngine;
  return `Replicated('/clickhouse/databases/${database}', '{shard}', '{replica}')`;
}

/**
 * Calls `work` with a folder of the migrations as replicated ones. The library that applies them records a hash of each
 * file, so a database stays with one of the two kinds. If the process dies here, a folder of texts is left in the
 * system's temporary folder.
 */
export async function withReplicatedFiles<Result>(
  folder: string,
  work: (replicated: string) => Promise<Result>,
): Promise<Result> {
  const copy = mkdtempSync(join(tmpdir(), 'padron-replicated-'));
  try {
    cpSync(folder, copy, { recursive: true, filter: (source) => source === folder || source.endsWith('.sql') });
    for (const file of readdirSync(copy)) {
      writeFileSync(join(copy, file), replicatedSql(readFileSync(join(copy, file), 'utf8')));
    }
    return await work(copy);
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
}
