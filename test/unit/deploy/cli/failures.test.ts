import { createServer } from 'node:net';
import { expect, test } from 'vitest';
import { explain } from '../../../../deploy/cli/failures.ts';
import { makeClickhouse } from '../../../../pipelines/runtime/clickhouse.ts';
import { makeKafka } from '../../../../pipelines/runtime/kafka.ts';
import { makeLogger } from '../../../../pipelines/runtime/log.ts';
import { migrateClickhouse } from '../../../../pipelines/runtime/migrate.ts';
import { makePool } from '../../../../pipelines/runtime/postgres.ts';

/** A port of this machine that nothing listens to. */
async function deadPort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}

const asks: Record<string, (port: number) => Promise<unknown>> = {
  PostgreSQL: (port) => makePool(`postgres://u:secret@127.0.0.1:${port}/x`, 'test', 1).query('SELECT 1'),
  'PostgreSQL by a name with two addresses': (port) =>
    makePool(`postgres://u:secret@localhost:${port}/x`, 'test', 1).query('SELECT 1'),
  Kafka: (port) => makeKafka(`127.0.0.1:${port}`, 'test', makeLogger('test', 'fatal')).admin().connect(),
  ClickHouse: (port) =>
    makeClickhouse(`http://u:secret@127.0.0.1:${port}/x`, 'test', { requestTimeoutMs: 1_000, connections: 1 }).query({
      query: 'SELECT 1',
    }),
  "ClickHouse's migrations": (port) => migrateClickhouse(`http://u:secret@127.0.0.1:${port}/x`),
};

test.each(Object.entries(asks))('%s that does not answer is told by its address and what to do', async (_, ask) => {
  const port = await deadPort();
  const said = explain(await ask(port).catch((error: unknown) => error));
  expect(said).toMatch(new RegExp(`^error: Nothing answers at (127.0.0.1|::1):${port} \\(ECONNREFUSED\\)\\.\nStart`));
});
