import { setTimeout as sleep } from 'node:timers/promises';
import { registers } from '../../schemas/registers.ts';
import { nameColumns } from '../consumers/company-names.ts';
import { servingTables } from '../consumers/materialize.ts';
import { historyColumns, stateColumns } from '../consumers/taxpayer-rows.ts';
import { type ClickHouseClient, insertSettings } from '../runtime/clickhouse.ts';
import { queryRows } from './stored.ts';

/** Names of the new tables that a rebuild fills. After the exchange, the former serving tables have these names. */
export const shadowTables = {
  state: 'taxpayer_rebuild',
  history: 'register_change_rebuild',
  names: 'ranked_name_rebuild',
} as const;
const planTable = 'rebuild_plan';

/**
 * Maps each register's code to the last of its editions that the shadow tables hold. Consumers write later editions
 * only into the serving tables during a rebuild, so `carryOver` copies the rows of those editions.
 */
export type FoldedEditions = ReadonlyMap<number, number>;

/**
 * The tables in the order in which consumers write them. `register` is SQL for the code of a row's register. For names,
 * `register` is a constant, because only the daily register has names.
 */
const pairs = [
  { kind: 'history', version: 'edition', columns: historyColumns, register: 'register' },
  { kind: 'names', version: 'version', columns: nameColumns, register: `${registers.padron_reducido.code}` },
  { kind: 'state', version: 'version', columns: stateColumns, register: 'register' },
] as const;
type Tables = Readonly<Record<(typeof pairs)[number]['kind'], string>>;

const copySettings = {
  ...insertSettings,
  max_threads: 1,
  max_insert_threads: '1',
  os_thread_priority: '15',
  max_memory_usage: String(2 * 1024 * 1024 * 1024),
} as const;
const pollMs = 200;
const maxWaitMs = 120_000;

/** The SQL of a rebuild. This folder's README lists what is left when the process dies between two statements. */
export class Shadow {
  readonly #clickhouse: ClickHouseClient;

  constructor(clickhouse: ClickHouseClient) {
    this.#clickhouse = clickhouse;
  }

  /**
   * Cleans up after a rebuild that died. Returns false when the rebuild left no tables. First it copies the rows of
   * editions that are newer than the rebuilt ones into the serving tables. If the dead rebuild had exchanged the
   * tables, perhaps only the shadow tables hold these rows. Then it drops the tables that the rebuild left.
   */
  async recover(): Promise<boolean> {
    const left = await this.#existing([planTable, ...Object.values(shadowTables)]);
    if (left.size === 0) return false;
    if (left.has(planTable)) await this.carryOver(await this.#readPlan(), shadowTables, servingTables);
    await this.drop();
    return true;
  }

  /**
   * Makes the shadow tables. It makes the plan table first, so that a later run that finds shadow tables knows which
   * editions they hold.
   */
  async create(folded: FoldedEditions): Promise<void> {
    const engine = await this.#engineOfPlan();
    await this.#run(`CREATE TABLE ${planTable} (register UInt8, edition UInt64) ENGINE = ${engine} ORDER BY register
      SETTINGS fsync_after_insert = 1, fsync_part_directory = 1`);
    await this.#clickhouse.insert({
      table: planTable,
      values: [...folded].map(([register, edition]) => ({ register, edition })),
      format: 'JSONEachRow',
      clickhouse_settings: insertSettings,
    });
    for (const { kind } of pairs) await this.#run(`CREATE TABLE ${shadowTables[kind]} AS ${servingTables[kind]}`);
  }

  /**
   * Copies rows from the serving tables into the shadow tables, for all registers except those in `rebuilt`.
   * @param rebuilt codes of the registers that are rebuilt
   */
  async copyOthers(rebuilt: readonly number[]): Promise<void> {
    for (const { kind, columns, register } of pairs) {
      const list = columns.join(', ');
      await this.#run(
        `INSERT INTO ${shadowTables[kind]} (${list}) SELECT ${list} FROM ${servingTables[kind]}
         WHERE NOT has({codes:Array(UInt8)}, ${register})`,
        { codes: rebuilt },
      );
    }
  }

  /**
   * For each register, copies the rows of editions later than its edition in `folded` from one set of tables into the
   * other. It can be repeated.
   */
  async carryOver(folded: FoldedEditions, from: Tables, to: Tables): Promise<void> {
    const there = await this.#existing([...Object.values(from), ...Object.values(to)]);
    for (const { kind, version, columns, register } of pairs) {
      if (!there.has(from[kind]) || !there.has(to[kind])) continue;
      const list = columns.join(', ');
      await this.#run(
        `INSERT INTO ${to[kind]} (${list}) SELECT ${list} FROM ${from[kind]}
         WHERE ${version} > transform(${register}, {codes:Array(UInt8)}, {editions:Array(UInt64)}, toUInt64(0))`,
        { codes: [...folded.keys()], editions: [...folded.values()] },
      );
    }
  }

  /**
   * Exchanges each shadow table with its serving table, in the order in which consumers write them: the state comes
   * last. Until the last exchange, new history and new names stand beside the old state. This does no harm, because
   * readers check against the state what they find in the history and the names.
   */
  async exchange(): Promise<void> {
    for (const { kind } of pairs) await this.#run(`EXCHANGE TABLES ${shadowTables[kind]} AND ${servingTables[kind]}`);
  }

  /**
   * Waits at most `maxWaitMs` for inserts that began before the exchange. They still write into the former serving
   * tables, which now have the shadow names. The caller then copies later editions' rows out of these tables and drops
   * the tables. Without the wait, rows that such an insert writes after the copy would be lost.
   */
  async awaitInserts(): Promise<void> {
    const begin = Date.now();
    while (Date.now() - begin < maxWaitMs) {
      const [row] = await queryRows<{ running: string }>(
        this.#clickhouse,
        `SELECT count() AS running FROM system.processes
         WHERE elapsed * 1000 >= {sinceMs:UInt64} AND query ILIKE '%INSERT INTO %'
           AND (query LIKE '%taxpayer%' OR query LIKE '%register_change%' OR query LIKE '%ranked_name%') AND query NOT LIKE '%system.processes%'`,
        { sinceMs: Date.now() - begin },
      );
      if (Number(row!.running) === 0) return;
      await sleep(pollMs);
    }
  }

  /**
   * Drops the shadow tables and then the plan table. If the process dies in between, the plan table still says which
   * editions the remaining shadow tables hold.
   */
  async drop(): Promise<void> {
    for (const { kind } of pairs) await this.#run(`DROP TABLE IF EXISTS ${shadowTables[kind]} SYNC`);
    await this.#run(`DROP TABLE IF EXISTS ${planTable} SYNC`);
  }

  async #readPlan(): Promise<FoldedEditions> {
    const rows = await queryRows<{ register: number; edition: string }>(
      this.#clickhouse,
      `SELECT register, edition FROM ${planTable}`,
      {},
    );
    return new Map(rows.map(({ register, edition }) => [register, Number(edition)]));
  }

  /** The plan is replicated where the serving tables are, so that every server of the cluster finds it. */
  async #engineOfPlan(): Promise<string> {
    const replicated = await queryRows(
      this.#clickhouse,
      `SELECT 1 FROM system.tables WHERE database = currentDatabase() AND name = {name:String} AND engine LIKE 'Replicated%'`,
      { name: servingTables.state },
    );
    return replicated.length > 0 ? 'ReplicatedMergeTree' : 'MergeTree';
  }

  async #existing(names: readonly string[]): Promise<Set<string>> {
    const rows = await queryRows<{ name: string }>(
      this.#clickhouse,
      'SELECT name FROM system.tables WHERE database = currentDatabase() AND has({names:Array(String)}, name)',
      { names },
    );
    return new Set(rows.map(({ name }) => name));
  }

  async #run(query: string, parameters: Record<string, unknown> = {}): Promise<void> {
    await this.#clickhouse.command({ query, query_params: parameters, clickhouse_settings: copySettings });
  }
}
