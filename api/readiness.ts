import type { ClickHouseClient } from '../pipelines/runtime/clickhouse.ts';
import type { RegisterName } from '../schemas/registers.ts';
import type { Catalogue } from './catalogue.ts';

/** null: ready for look-ups. Text: what is missing; a store that does not answer, or a required register never loaded. */
export function makeReadiness(
  catalogue: Catalogue,
  clickhouse: ClickHouseClient,
  required: readonly RegisterName[],
): () => Promise<string | null> {
  return async () => {
    const served = await catalogue.snapshot().catch(() => null);
    if (served === null) return 'PostgreSQL does not answer';
    const missing = required.filter((register) => served[register] === undefined);
    if (missing.length > 0) return `no materialised edition yet of: ${missing.join(', ')}`;
    const answer = await clickhouse.ping();
    return answer.success ? null : 'ClickHouse does not answer';
  };
}
