import { setTimeout as sleep } from 'node:timers/promises';
import { type RegisterName, registerNames, registers } from '../../schemas/registers.ts';
import { servingTables, wordTable } from '../consumers/materialize.ts';
import type { ClickHouseClient } from '../runtime/clickhouse.ts';
import type { Pool } from '../runtime/postgres.ts';
import { type CatalogueEdition, lossOf, type StoredCounts, type StoredNames, sum } from './loss.ts';
import { isRebuilding } from './rebuild.ts';
import { inTableOrder, queryRows } from './stored.ts';

interface Dependencies {
  pool: Pool;
  clickhouse: ClickHouseClient;
  /** The replica of that name, if there are several. */
  replica?: string;
  /** Pause before a loss is counted again. Only a loss that is found twice is reported. */
  confirmMs?: number;
}

type Editions = ReadonlyMap<RegisterName, readonly CatalogueEdition[]>;
interface Table {
  rows: number;
  /** A text that changes with the table's rows. */
  parts: string;
}
/** The tables that exist, by name. */
type Tables = ReadonlyMap<string, Table>;

const daily = registers.padron_reducido;
const tables = [...Object.values(servingTables), wordTable];

/**
 * While tables change from call to call, as during a load and the merges after it, rows are counted once in this time.
 * A count takes 9 to 15 s of one thread (36.9 million rows of two registers, 15.8 million changes of 395 days).
 */
const movingMs = 600_000;

/**
 * Finds data that the catalogue says is served and that ClickHouse lost: a table, a register, a part of a table, or
 * everything after an old copy. `problem` can be called every minute: it counts rows only when tables or catalogue have
 * changed since the last count and then stay as they are. Otherwise it costs one small query in each store.
 */
export class LostData {
  readonly #dependencies: Dependencies;
  #last: { key: string; at: number; problem: string | null } | null = null;
  /** The tables and the catalogue at the last call. */
  #seen = '';

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies;
  }

  /** Whether a table has fewer rows than what is served, or is missing. ClickHouse knows that without reading rows. */
  async isShort(): Promise<boolean> {
    return hasTooFewRows(await readEditions(this.#dependencies.pool), await readTables(this.#dependencies.clickhouse));
  }

  /**
   * Returns what is lost and the command that brings it back, or null. Rejects when a store does not answer.
   * During a rebuild the last answer stands. A rebuild exchanges tables, and for a moment a table may lack rows that
   * consumers wrote into the former one.
   */
  async problem(stop?: AbortSignal): Promise<string | null> {
    const { pool, clickhouse, confirmMs = 5_000 } = this.#dependencies;
    if (this.#last !== null && (await isRebuilding(pool))) return this.#last.problem;
    const before = await readEditions(pool);
    const stored = await readTables(clickhouse);
    const key = JSON.stringify([[...before], [...stored]]);
    const isMoving = key !== this.#seen && Date.now() - (this.#last?.at ?? 0) < movingMs;
    this.#seen = key;
    if (this.#last?.problem === null && (key === this.#last.key || isMoving) && !hasTooFewRows(before, stored))
      return null;
    let losses = await this.#losses(before, stored);
    if (losses.size > 0) {
      // Two queries see two moments of a table that consumers write. A real loss is still there a little later.
      await sleep(confirmMs, undefined, { signal: stop });
      const again = await this.#losses(await readEditions(pool), await readTables(clickhouse));
      losses = new Map([...again].filter(([about]) => losses.has(about)));
    }
    const { replica } = this.#dependencies;
    const option = replica === undefined ? '' : ` (with \`--replica ${replica}\`)`;
    const problem = losses.size === 0 ? null : `${[...losses.values()].join('; ')}${option}`;
    this.#last = { key, at: Date.now(), problem };
    return problem;
  }

  /** Maps each register with a loss, or 'tables' if tables are missing, to the text of its loss. */
  async #losses(before: Editions, stored: Tables): Promise<Map<RegisterName | 'tables', string>> {
    const { pool, clickhouse } = this.#dependencies;
    if (![...before.values()].flat().some(({ isMaterialised }) => isMaterialised)) return new Map();
    const missing = tables.filter((table) => !stored.has(table));
    if (missing.length > 0) return new Map([['tables', missingText(missing)]]);
    // The history is read before the state, because consumers write it first.
    const history = await readHistory(clickhouse);
    const state = await readState(clickhouse);
    const served = before.get(daily.name)!.findLast(({ isMaterialised }) => isMaterialised);
    const names = served === undefined ? null : await readNames(clickhouse, served.number);
    const after = await readEditions(pool);
    const losses = new Map<RegisterName, string>();
    for (const register of registerNames) {
      const counts = countsOf(registers[register].code, state, history);
      const itsNames = register === daily.name ? names : null;
      const loss = lossOf(register, before.get(register)!, after.get(register)!, counts, itsNames);
      if (loss !== null) losses.set(register, loss);
    }
    return losses;
  }
}

async function readEditions(pool: Pool): Promise<Editions> {
  const { rows } = await pool.query<CatalogueEdition>({
    name: 'editions-for-losses',
    text: `SELECT register, number, changes, COALESCE((counts->>'baseline')::bigint, 0) AS baseline,
        (counts->>'stateRows')::bigint AS rows, (counts->'rowsByKind'->>'company')::bigint AS companies,
        materializada_at IS NOT NULL AS "isMaterialised"
      FROM edition ORDER BY register, number`,
  });
  return new Map(registerNames.map((name) => [name, rows.filter(({ register }) => register === name)]));
}

/**
 * Whether a table is missing or has fewer rows than the served editions gave it. Superseded rows count too, so that it
 * may hide a loss but never invents one.
 */
function hasTooFewRows(editions: Editions, stored: Tables): boolean {
  const written = [...editions.values()].map((all) => all.slice(0, 1 + all.findLastIndex((one) => one.isMaterialised)));
  const least = {
    [servingTables.state]: sum(written.map((all) => all.at(-1)?.rows ?? 0)),
    [servingTables.history]: sum(written.flat().map(({ changes, baseline }) => changes - baseline)),
    [servingTables.names]: 0,
    [wordTable]: 0,
  };
  const served = written.some((all) => all.length > 0);
  return served && Object.entries(least).some(([table, rows]) => (stored.get(table)?.rows ?? -1) < rows);
}

async function readTables(clickhouse: ClickHouseClient): Promise<Tables> {
  const found = await queryRows<{ name: string; rows: string; parts: string }>(
    clickhouse,
    `SELECT name, active.total AS rows, concat(toString(uuid), active.hash) AS parts FROM system.tables
     LEFT JOIN (
       SELECT table, sum(rows) AS total, toString(groupBitXor(cityHash64(name, rows, hash_of_all_files))) AS hash
       FROM system.parts WHERE database = currentDatabase() AND active GROUP BY table
     ) AS active ON active.table = name
     WHERE database = currentDatabase() AND has({names:Array(String)}, name) ORDER BY name`,
    { names: tables },
  );
  return new Map(found.map(({ name, rows, parts }) => [name, { rows: Number(rows), parts }]));
}

interface StateRow {
  register: number;
  version: string;
  keys: string;
  live: string;
}

function readState(clickhouse: ClickHouseClient): Promise<StateRow[]> {
  return queryRows(
    clickhouse,
    `SELECT register, version, count() AS keys, countIf(is_deleted = 0) AS live FROM taxpayer FINAL
     GROUP BY register, version`,
    {},
    inTableOrder,
  );
}

interface HistoryRow {
  register: number;
  edition: string;
  rows: string;
  newest: string;
}

function readHistory(clickhouse: ClickHouseClient): Promise<HistoryRow[]> {
  return queryRows(
    clickhouse,
    `SELECT register, edition, sum(stored) AS rows, sum(last) AS newest FROM (
       SELECT register, edition, count() AS stored, 0 AS last FROM register_change GROUP BY register, edition
       UNION ALL
       SELECT register, edition, 0 AS stored, count() AS last
       FROM (SELECT register, max(register_change.edition) AS edition FROM register_change GROUP BY ruc, register)
       GROUP BY register, edition)
     GROUP BY register, edition`,
    {},
    inTableOrder,
  );
}

/** Counts only names up to the served edition: a consumer may be writing words and names of a later one. */
async function readNames(clickhouse: ClickHouseClient, served: number): Promise<StoredNames> {
  const [row] = await queryRows<{ companies: string; words: string }>(
    clickhouse,
    `SELECT (SELECT uniqExact(ruc) FROM ranked_name WHERE is_deleted = 0) AS companies,
       (SELECT uniqExact(first_word) FROM ranked_name WHERE version <= {served:UInt64}
          AND first_word NOT IN (SELECT word FROM company_word)) AS words`,
    { served },
    inTableOrder,
  );
  return { companies: Number(row!.companies), unknownWords: Number(row!.words) };
}

function countsOf(code: number, state: readonly StateRow[], history: readonly HistoryRow[]): StoredCounts {
  const ownState = state.filter(({ register }) => register === code);
  const own = history.filter(({ register }) => register === code);
  return {
    state: new Map(ownState.map((row) => [Number(row.version), { keys: Number(row.keys), live: Number(row.live) }])),
    history: new Map(own.map(({ edition, rows }) => [Number(edition), Number(rows)])),
    changed: new Map(own.map(({ edition, newest }) => [Number(edition), Number(newest)])),
  };
}

function missingText(missing: readonly string[]): string {
  const names = missing.join(', ');
  return `clickhouse_lost: ClickHouse has no table ${names}: run \`npx padron migrate\`, then \`npx padron rebuild\``;
}
