import { readdirSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { ClickHouseClient } from '@clickhouse/client';
import type { Pool } from 'pg';
import { passingOf } from '../passing-errors.ts';

interface Store {
  name: string;
  /** The migrations that this release needs, by the names under which the store records them. */
  wanted: readonly string[];
  /** The migrations that the store records. Those of a later release may be among them. */
  applied(): Promise<string[]>;
}

/** Pause between two questions of a process that waits for `padron migrate`. */
const waitMs = 2_000;

/**
 * Knows whether each store has the schema of this release. A later release's schema is good too, because it keeps what
 * this release uses (schemas/README.md).
 */
export class SchemaLevel {
  readonly #stores: readonly StoreLevel[];

  /** @param pool null to leave PostgreSQL out; likewise `clickhouse`, of which an installation may have several */
  constructor(pool: Pool | null, clickhouse: ClickHouseClient | null) {
    const stores = [pool && postgresStore(pool), clickhouse && clickhouseStore(clickhouse)];
    this.#stores = stores.flatMap((store) => (store === null ? [] : new StoreLevel(store)));
  }

  /**
   * Returns what a store lacks, and null when both have everything. A store that had everything is asked again beside
   * the call, so that an outage or a slow store does not delay a probe. The process's other checks report an outage.
   * @throws the client's error when a store has never answered
   */
  async problem(): Promise<string | null> {
    for (const store of this.#stores) {
      const problem = await store.problem();
      if (problem !== null) return problem;
    }
    return null;
  }

  /**
   * Resolves once both stores have everything. A process that writes waits for this before its work, also while a store
   * is away: its supervisor would start it into the same absence. `note` gets each different problem once.
   * @throws the client's error when a store refuses the question
   */
  async reached(note: (problem: string) => void): Promise<void> {
    let noted: string | null = null;
    for (;;) {
      const problem = await this.problem().catch((error: Error) => {
        if (passingOf(error) !== 'away') throw error;
        return `a store does not answer: ${error.message}`;
      });
      if (problem === null) return;
      if (problem !== noted) note(problem);
      noted = problem;
      await sleep(waitMs);
    }
  }
}

/** Whether ClickHouse has all files of this release and files of a later one besides. */
export async function hasLaterSchema(clickhouse: ClickHouseClient): Promise<boolean> {
  const { wanted, applied } = clickhouseStore(clickhouse);
  const found = await applied();
  return wanted.every((file) => found.includes(file)) && found.length > wanted.length;
}

class StoreLevel {
  readonly #store: Store;
  #problem: string | null | undefined;
  #asking: Promise<void> | null = null;

  constructor(store: Store) {
    this.#store = store;
  }

  async problem(): Promise<string | null> {
    this.#asking ??= this.#ask().finally(() => {
      this.#asking = null;
    });
    if (this.#problem === null) this.#asking.catch(() => {});
    else await this.#asking;
    return this.#problem ?? null;
  }

  async #ask(): Promise<void> {
    const { name, wanted, applied } = this.#store;
    const found = new Set(await applied());
    const missing = wanted.filter((migration) => !found.has(migration));
    this.#problem = missing.length === 0 ? null : `${name} has an older schema: ${lackOf(missing)}`;
  }
}

function lackOf([first, ...others]: readonly string[]): string {
  const more = others.length === 0 ? '' : ` and ${others.length} more`;
  return `it lacks the migration ${first}${more}; run \`npx padron migrate\` of this release`;
}

function filesOf(engine: string): string[] {
  const folder = fileURLToPath(new URL(`../../../schemas/${engine}`, import.meta.url));
  const files = readdirSync(folder).filter((name) => name.endsWith('.sql'));
  return files.sort();
}

/** Error codes of a store that no migration has reached yet. */
const noTable = { postgres: '42P01', clickhouse: ['60', '81'] };

function postgresStore(pool: Pool): Store {
  return {
    name: 'PostgreSQL',
    wanted: filesOf('postgres').map((file) => file.replace(/\.sql$/, '')),
    async applied() {
      try {
        const { rows } = await pool.query<{ name: string }>('SELECT name FROM schema_migration');
        return rows.map(({ name }) => name);
      } catch (error) {
        if ((error as { code?: string }).code === noTable.postgres) return [];
        throw error;
      }
    },
  };
}

function clickhouseStore(clickhouse: ClickHouseClient): Store {
  return {
    name: 'ClickHouse',
    wanted: filesOf('clickhouse'),
    async applied() {
      try {
        const result = await clickhouse.query({
          query: 'SELECT DISTINCT migration_name AS name FROM _migrations',
          format: 'JSONEachRow',
        });
        return (await result.json<{ name: string }>()).map(({ name }) => name);
      } catch (error) {
        if (noTable.clickhouse.includes((error as { code?: string }).code ?? '')) return [];
        throw error;
      }
    },
  };
}
