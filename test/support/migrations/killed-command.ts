import { once } from 'node:events';
import type { Endpoints } from '../../../deploy/local/config.ts';
import { freshClickhouseDatabase, freshDatabase } from '../engines/isolation.ts';
import { type CommandResult, runCommand, startPadron } from '../process/command.ts';
import { relayClickhouse } from './clickhouse-relay.ts';
import { relayPostgres } from './postgres-relay.ts';
import { dumpClickhouse, dumpPostgres } from './schema-dump.ts';
import { seedClickhouse, seedPostgres } from './seeds.ts';
import { beginningsOf } from './statements.ts';

/** A statement of `padron migrate`, by its place among those that the command sends to the store. */
export interface KillPoint {
  store: 'PostgreSQL' | 'ClickHouse';
  place: number;
  /** The end of what was executed before the kill. */
  statement: string;
}

/** Two empty stores with a `padron migrate` between which and them every statement is counted. */
export class CountedMigration {
  readonly points: KillPoint[] = [];
  readonly #stores: { postgres: string; clickhouse: string };
  readonly #environment: Record<string, string>;
  readonly #drop: () => Promise<void>;

  private constructor(
    stores: { postgres: string; clickhouse: string },
    environment: Record<string, string>,
    drop: () => Promise<void>,
  ) {
    this.#stores = stores;
    this.#environment = environment;
    this.#drop = drop;
  }

  /** @param environment what the command needs besides the addresses of the two stores */
  static async onEmptyStores(endpoints: Endpoints, environment: Record<string, string>): Promise<CountedMigration> {
    const [database, store] = [await freshDatabase(endpoints), await freshClickhouseDatabase(endpoints)];
    const stores = { postgres: database.DATABASE_URL, clickhouse: store.CLICKHOUSE_URL };
    return new CountedMigration(stores, { ...endpoints, ...environment }, async () => {
      await database.drop();
      await store.drop();
    });
  }

  /** Runs the command to its end and fills `points`. */
  async run(): Promise<CommandResult> {
    const relays = await this.#relays(null, async () => {});
    const result = await runCommand(['migrate'], { ...this.#environment, ...relays.environment });
    await relays.close();
    return result;
  }

  /** Runs the command as a process of its own and kills it with SIGKILL once it has sent the point's statement. */
  async runKilled(point: KillPoint): Promise<void> {
    let kill = async () => {};
    const relays = await this.#relays(point, () => kill());
    const child = startPadron(['migrate'], { ...this.#environment, ...relays.environment });
    let said = '';
    child.stdout.on('data', (chunk) => {
      said += chunk;
    });
    child.stderr.on('data', (chunk) => {
      said += chunk;
    });
    const ended = once(child, 'close') as Promise<[number | null, string | null]>;
    kill = async () => {
      child.kill('SIGKILL');
      await ended;
    };
    const [code, signal] = await ended;
    await relays.close();
    if (signal !== 'SIGKILL') throw new Error(`the command ended with ${code} before the statement came: ${said}`);
  }

  /** The schema and the number of rows of both stores. */
  async dump(): Promise<string[]> {
    return [...(await dumpPostgres(this.#stores.postgres)), ...(await dumpClickhouse(this.#stores.clickhouse))];
  }

  drop(): Promise<void> {
    return this.#drop();
  }

  async #relays(target: KillPoint | null, kill: () => Promise<void>) {
    const { postgres, clickhouse } = this.#stores;
    const places = { PostgreSQL: 0, ClickHouse: 0 };
    const isTarget = (store: KillPoint['store'], executed: string) => {
      const place = places[store];
      places[store] += 1;
      if (target === null) this.points.push({ store, place, statement: executed.trim().slice(-120) });
      return target?.store === store && target.place === place;
    };
    const toPostgres = await relayPostgres(
      postgres,
      async (query) => {
        await seedPostgres(postgres, query);
        const killAfter = beginningsOf(query).find((beginning) => isTarget('PostgreSQL', beginning));
        return killAfter === undefined ? 'pass' : { killAfter };
      },
      kill,
    );
    const toClickhouse = await relayClickhouse(
      clickhouse,
      async (statement) => {
        await seedClickhouse(clickhouse, statement);
        return isTarget('ClickHouse', statement) ? 'kill_after' : 'pass';
      },
      kill,
    );
    return {
      environment: { DATABASE_URL: toPostgres.url, CLICKHOUSE_URL: toClickhouse.url },
      close: async () => {
        if (toPostgres.refused.length > 0) throw new Error(`PostgreSQL refused: ${toPostgres.refused.join()}`);
        await toPostgres.close();
        await toClickhouse.close();
      },
    };
  }
}
