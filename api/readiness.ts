import type { ClickHouseClient } from '../deploy/runtime/clickhouse.ts';
import type { RegisterName } from '../schemas/registers.ts';
import type { Catalogue } from './catalogue.ts';

/** null: ready for look-ups. Text: what is missing; a store that does not answer, or a required register never loaded. */
export function makeReadiness(
  catalogue: Catalogue,
  clickhouse: ClickHouseClient,
  required: readonly RegisterName[],
): () => Promise<string | null> {
  return async () => {
    for (const register of required) {
      const served = await catalogue.find(register).catch(() => undefined);
      if (served === undefined) return 'PostgreSQL does not answer';
      if (served === null) return `the register ${register} has no materialised edition yet`;
    }
    const answer = await clickhouse.ping();
    return answer.success ? null : 'ClickHouse does not answer';
  };
}
