import type { Admin, Kafka } from 'kafkajs';
import type { ClickHouseClient } from '../runtime/clickhouse.ts';
import { connectAdmin } from '../stream/kafka.ts';

/** A rebuild exchanges the other tables, but never this one. */
const identityTable = 'company_word';

/** What one question shows of a ClickHouse server's store. */
export interface StoreFacts {
  /** Changes when the store was lost and made anew. Null without our tables. */
  id: string | null;
  /** Rows of the state, superseded ones included. */
  rows: number;
}

/**
 * Identifies a server's store by the UUID that ClickHouse gave a table when `padron migrate` made it. A store that lost its
 * disk gets another UUID, so nobody takes it for the one that it replaces.
 */
export async function storeFacts(clickhouse: ClickHouseClient): Promise<StoreFacts> {
  const result = await clickhouse.query({
    query: `SELECT toString(anyIf(uuid, name = '${identityTable}')), toString(countIf(name = '${identityTable}')),
        toString(sumIf(total_rows, name = 'taxpayer'))
      FROM system.tables WHERE database = currentDatabase() AND name IN ('${identityTable}', 'taxpayer')`,
    format: 'JSONCompactEachRow',
  });
  const [[uuid, found, rows] = ['', '0', '0']] = await result.json<[string, string, string]>();
  return { id: found === '0' ? null : uuid, rows: Number(rows ?? 0) };
}

/**
 * Makes a consumer group read all changes from the beginning, by deleting what it has committed. The group must have no
 * member, so all consumers processes of the replica must have stopped.
 */
export async function readFromBeginning(kafka: Kafka, groupId: string): Promise<void> {
  await withAdmin(kafka, groupId, async (admin) => {
    const { groups } = await admin.describeGroups([groupId]);
    if (groups.some(({ state }) => state !== 'Dead')) await admin.deleteGroups([groupId]);
  });
}

/** Where a consumer group goes on in one topic. */
export interface GroupPlace {
  topic: string;
  partitions: { partition: number; offset: string }[];
}

/** Makes a consumer group without members go on at these places. */
export async function goOnAt(kafka: Kafka, groupId: string, places: readonly GroupPlace[]): Promise<void> {
  await withAdmin(kafka, groupId, async (admin) => {
    for (const place of places) await admin.setOffsets({ groupId, ...place });
  });
}

async function withAdmin(kafka: Kafka, groupId: string, work: (admin: Admin) => Promise<void>): Promise<void> {
  const admin = await connectAdmin(kafka);
  try {
    await work(admin);
  } catch (error) {
    throw new Error(`the consumer group ${groupId} could not be set: stop every consumers process that feeds it`, {
      cause: error,
    });
  } finally {
    await admin.disconnect();
  }
}
