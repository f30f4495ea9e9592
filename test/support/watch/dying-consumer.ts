import { setTimeout as sleep } from 'node:timers/promises';
import { Registry } from 'prom-client';
import { z } from 'zod';
import { makeLoopMetrics } from '../../../pipelines/consumers/batch.ts';
import { runLoop } from '../../../pipelines/consumers/loop.ts';
import { makeMaterializeHandler } from '../../../pipelines/consumers/materialize.ts';
import { makeClickhouse } from '../../../pipelines/runtime/clickhouse.ts';
import { makeKafka } from '../../../pipelines/runtime/kafka/client.ts';
import { makeLogger } from '../../../pipelines/runtime/log.ts';
import { materializeGroup } from '../../../pipelines/stream/topics.ts';
import { WriterSchemas } from '../../../pipelines/stream/writer-schemas.ts';
import { changesTopic } from '../../../schemas/registers.ts';

// A consumer that inserts its first batch, reports it and never commits. The test kills it at this point.
const config = z
  .object({
    KAFKA_BROKERS: z.string(),
    KAFKA_TOPIC_PREFIX: z.string(),
    CLICKHOUSE_URL: z.string(),
    SCHEMA_ID: z.coerce.number(),
  })
  .parse(process.env);

const log = makeLogger('dying', 'fatal');
const metrics = new Registry();
const clickhouse = makeClickhouse(config.CLICKHOUSE_URL, 'dying', { requestTimeoutMs: 30_000, connections: 2 });
const handle = makeMaterializeHandler(clickhouse, metrics);
await runLoop({
  kafka: makeKafka({ brokers: config.KAFKA_BROKERS }, 'dying', log),
  group: materializeGroup(config.KAFKA_TOPIC_PREFIX),
  topics: [{ topic: changesTopic(config.KAFKA_TOPIC_PREFIX, 'padron_reducido'), register: 'padron_reducido' }],
  schemas: new WriterSchemas(async () => null, new Map([['padron_reducido', config.SCHEMA_ID]]), 'as_written'),
  handle: async (batch) => {
    await handle(batch);
    process.stdout.write(`inserted ${batch.partition} ${batch.messages.length}\n`);
    await sleep(600_000);
  },
  log,
  metrics: makeLoopMetrics(metrics),
  onFailure: () => process.exit(1),
  limits: { sessionTimeoutMs: 6_000, heartbeatMs: 500, maxBytesPerPartition: 64 * 1024 },
});
