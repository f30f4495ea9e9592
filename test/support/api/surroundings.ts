import { inject } from 'vitest';
import { type ClickHouseClient, makeClickhouse } from '../../../pipelines/runtime/clickhouse.ts';
import { makePool, type Pool } from '../../../pipelines/runtime/postgres.ts';
import { migratedClickhouseDatabase, migratedDatabase } from '../engines/isolation.ts';
import { makeTcpProxy, type TcpProxy } from '../engines/tcp-proxy.ts';
import { liftLimits, type RunningApi, startApi } from './process.ts';

/** The real API process with its own databases, each behind a connection that the test can cut. */
export interface Surroundings {
  api: RunningApi;
  pool: Pool;
  clickhouse: ClickHouseClient;
  postgresLine: TcpProxy;
  clickhouseLine: TcpProxy;
  databaseUrl: string;
  stop(): Promise<void>;
}

export async function startSurroundings(environment: Record<string, string> = {}): Promise<Surroundings> {
  const endpoints = inject('endpoints');
  const database = await migratedDatabase(endpoints);
  const store = await migratedClickhouseDatabase(endpoints);
  const postgresLine = await makeTcpProxy(database.DATABASE_URL);
  const clickhouseLine = await makeTcpProxy(store.CLICKHOUSE_URL);
  const api = await startApi({ DATABASE_URL: postgresLine.url, CLICKHOUSE_URL: clickhouseLine.url, ...environment });
  const pool = makePool(database.DATABASE_URL, 'test', 4);
  await liftLimits(pool);
  const clickhouse = makeClickhouse(store.CLICKHOUSE_URL, 'test', { requestTimeoutMs: 10_000, connections: 2 });
  return {
    api,
    pool,
    clickhouse,
    postgresLine,
    clickhouseLine,
    databaseUrl: database.DATABASE_URL,
    async stop() {
      await api.stop();
      await Promise.all([postgresLine.stop(), clickhouseLine.stop(), pool.end(), clickhouse.close()]);
      await Promise.all([database.drop(), store.drop()]);
    },
  };
}
