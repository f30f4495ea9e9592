import type { ClickHouseClient } from '@clickhouse/client';
import { afterAll, beforeAll, inject } from 'vitest';
import { quietClient } from '../../support/engines/clickhouse.ts';
import { freshClickhouseDatabase } from '../../support/engines/isolation.ts';

// These suites hold for any server of ClickHouse's HTTP interface. Set CLICKHOUSE_URL to run them against another one.

/** Creates an empty database before the suite's first test, passes it to `take`, and drops it after the last. */
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
