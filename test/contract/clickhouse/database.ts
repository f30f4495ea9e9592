import type { ClickHouseClient } from '@clickhouse/client';
import { afterAll, beforeAll, inject } from 'vitest';
import { quietClient } from '../../support/engines/clickhouse.ts';
import { freshClickhouseDatabase } from '../../support/engines/isolation.ts';

// What these suites prove holds for whoever serves ClickHouse's HTTP interface: run them with CLICKHOUSE_URL against a server.

/** An empty database of the suite's own, dropped after its tests; `take` is given it before the first. */
export function inFreshDatabase(take: (made: { client: ClickHouseClient; url: string }) => void): void {
  let end: () => Promise<void>;
  beforeAll(async () => {
    const { CLICKHOUSE_URL: url, drop } = await freshClickhouseDatabase(inject('endpoints'));
    const client = quietClient(url);
    end = async () => {
      await client.close();
      await drop();
    };
    take({ client, url });
  });
  afterAll(() => end?.());
}
