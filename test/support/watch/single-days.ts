import { readFileSync } from 'node:fs';
import type { PoolClient, Queryable } from '../../../pipelines/runtime/postgres.ts';

const lastRelease = new URL('../../../schemas/postgres/0015_event_days.sql', import.meta.url);

/** Makes a partition for each day, with the SQL function of the last release that did so. The session keeps it. */
export async function makeSingleDays(client: PoolClient, days: readonly string[]): Promise<void> {
  const text = readFileSync(lastRelease, 'utf8');
  await client.query(text.replace('FUNCTION ensure_event_day(', 'FUNCTION pg_temp.make_single_day('));
  await client.query('SELECT pg_temp.make_single_day(day) FROM unnest($1::date[]) AS day', [days]);
}

/** The partitions of a table with their first and last day, in order. */
export async function partitionsOf(database: Queryable, parent: 'event' | 'delivery' | 'attempt'): Promise<string[]> {
  const { rows } = await database.query<{ first_day: string; last_day: string }>(
    'SELECT first_day, end_day - 1 AS last_day FROM event_partitions($1) ORDER BY first_day',
    [parent],
  );
  return rows.map(({ first_day, last_day }) => `${first_day} ${last_day}`);
}
