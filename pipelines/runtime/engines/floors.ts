import type { EngineName } from './failure.ts';

/**
 * The oldest version of each engine that this release works with; null where an engine shows none.
 * - PostgreSQL: our tests run 18. Migrations and the tests of editions, webhooks and metering also passed on 15.
 * - ClickHouse: text indexes, which early migrations make, need no special setting from 26.2 on. Our tests run 26.7.
 * - Temporal: worker versions (DELIVERY_BUILD_ID) need 1.29. Our tests run 1.32.
 * - Kafka: any broker that kafkajs speaks with. Our tests run 4.4.
 * - Schema registry: any with Confluent's interface. Our tests run Apicurio 3.3.
 */
export const engineFloors: Record<EngineName, string | null> = {
  PostgreSQL: '15',
  ClickHouse: '26.2',
  Temporal: '1.29',
  Kafka: null,
  'schema registry': null,
};

/**
 * Whether a version such as `18.4 (Debian 18.4-1)` is older than the floor. A version that does not begin with a number
 * is not: a managed service may show none.
 */
export function isBelow(version: string, floor: string): boolean {
  const parts = (text: string) => (/^[0-9.]+/.exec(text)?.[0] ?? '').split('.').filter(Boolean).map(Number);
  const found = parts(version);
  if (found.length === 0) return false;
  for (const [index, least] of parts(floor).entries()) {
    const difference = (found[index] ?? 0) - least;
    if (difference !== 0) return difference < 0;
  }
  return false;
}
