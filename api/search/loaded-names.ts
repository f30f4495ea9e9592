import type { ClickHouseClient } from '../../pipelines/runtime/clickhouse.ts';
import { within } from '../../pipelines/runtime/lifecycle.ts';
import type { AskClickhouse } from '../stores/replicas.ts';
import { DocSet } from './doc-set.ts';
import type { Names } from './finder.ts';
import { NameIndex } from './name-index.ts';
import { readNames } from './name-rows.ts';

/** From this age on, the names are compared with the table in the background; from the second, before they are used. */
const ages = { refreshMs: 1_000, waitMs: 2_000 } as const;
/** When more rows than these have changed, all names are read again, because each refresh reads what has changed. */
const maxChangedRows = 100_000;
const timeouts = { shortMs: 2_000, changesMs: 5_000, allMs: 120_000 } as const;

/** What the table of one replica was like at one moment. A rebuild makes another table with the same name. */
interface Mark {
  replica: string;
  table: string;
  rows: number;
}

interface Loaded {
  mark: Mark;
  edition: number;
  /** The edition that was served when all names were read. Later refreshes read only the rows of later editions. */
  since: number;
  all: NameIndex;
  names: readonly Names[];
  checkedAt: number;
}

/**
 * Keeps the names of the table `ranked_name` in memory. Names of a served edition are there before its first answer,
 * and rows of an edition that is being written within two seconds. All names are read at the first call. Later only the
 * changed rows are read, into a second index, and the names that they replace are left out of the first.
 */
export class LoadedNames {
  readonly #ask: AskClickhouse;
  #loaded: Loaded | null = null;
  #reading: { edition: number; done: Promise<Loaded> } | null = null;

  constructor(ask: AskClickhouse) {
    this.#ask = ask;
  }

  /**
   * @param edition the edition that is served now
   * @throws the store's error when the names of this edition cannot be read
   */
  async get(edition: number): Promise<readonly Names[]> {
    const loaded = this.#loaded;
    if (loaded !== null && loaded.edition === edition) {
      const age = performance.now() - loaded.checkedAt;
      if (age < ages.refreshMs) return loaded.names;
      const read = this.#read(edition);
      if (age < ages.waitMs) read.catch(() => undefined);
      else return (await read).names;
      return loaded.names;
    }
    return (await this.#read(edition)).names;
  }

  /** Callers that ask at the same time share one read, but not one that began for an earlier edition. */
  async #read(edition: number): Promise<Loaded> {
    while (this.#reading !== null && this.#reading.edition !== edition) await this.#reading.done.catch(() => undefined);
    this.#reading ??= { edition, done: this.#askRefresh(edition).finally(() => (this.#reading = null)) };
    return await this.#reading.done;
  }

  /** All queries of a refresh go to one replica, and all of them to another one if it fails. */
  #askRefresh(edition: number): Promise<Loaded> {
    return this.#ask('names', (clickhouse, replica) => this.#refresh(edition, clickhouse, replica));
  }

  /**
   * All replicas that may be asked hold the served edition, so they have the same names up to it. When another replica is
   * asked than the last time, only the later changes are read from it.
   */
  async #refresh(edition: number, clickhouse: ClickHouseClient, replica: string): Promise<Loaded> {
    const checkedAt = performance.now();
    const mark = await readMark(clickhouse, replica);
    const last = this.#loaded;
    const isSameTable = last !== null && (last.mark.table === mark.table || last.mark.replica !== replica);
    const isSameEdition = last?.edition === edition;
    if (isSameTable && isSameEdition && last.mark.rows === mark.rows) {
      this.#loaded = { ...last, checkedAt };
    } else if (isSameTable && (await countChanged(clickhouse, last.since)) <= maxChangedRows) {
      const names = await within(timeouts.changesMs, readChanges(clickhouse, last));
      this.#loaded = { ...last, names, mark, edition, checkedAt };
    } else if (isSameTable && isSameEdition) {
      // A very large edition is being written. Its names are read at once when it is served.
      this.#loaded = { ...last, mark, checkedAt };
    } else {
      // The old names are given up first, so that memory never holds all names twice. Searches wait meanwhile.
      this.#loaded = null;
      // Without `await`, so that this call ends and with it the last reference to the old names.
      return this.#readAll(clickhouse, mark, edition, checkedAt);
    }
    return this.#loaded;
  }

  async #readAll(clickhouse: ClickHouseClient, mark: Mark, edition: number, checkedAt: number): Promise<Loaded> {
    const all = new NameIndex();
    const read = readNames(clickhouse, 0, (row) => row.isDeleted || all.add(row));
    await within(timeouts.allMs, read);
    all.finish();
    this.#loaded = { mark, edition, since: edition, all, names: [{ index: all, replaced: null }], checkedAt };
    return this.#loaded;
  }
}

async function readChanges(clickhouse: ClickHouseClient, { all, since }: Loaded): Promise<readonly Names[]> {
  const changed = new NameIndex();
  const replaced = new DocSet(all.size);
  await readNames(clickhouse, since, (row) => {
    const doc = all.find(row);
    if (doc >= 0) replaced.add(doc);
    if (!row.isDeleted) changed.add(row);
  });
  changed.finish();
  return [
    { index: all, replaced },
    { index: changed, replaced: null },
  ];
}

async function readMark(clickhouse: ClickHouseClient, replica: string): Promise<Mark> {
  const [table, rows] = await readRow(
    clickhouse,
    `SELECT toString(uuid), toString(total_rows) FROM system.tables
     WHERE database = currentDatabase() AND name = 'ranked_name'`,
  );
  return { replica, table: table!, rows: Number(rows) };
}

async function countChanged(clickhouse: ClickHouseClient, since: number): Promise<number> {
  const query = `SELECT toString(count()) FROM ranked_name WHERE version > ${since}`;
  return Number((await readRow(clickhouse, query))[0]);
}

async function readRow(clickhouse: ClickHouseClient, query: string): Promise<string[]> {
  const settings = { max_threads: 1, wait_end_of_query: 1 } as const;
  const asked = clickhouse.query({ query, format: 'JSONCompactEachRow', clickhouse_settings: settings });
  const result = await within(timeouts.shortMs, asked);
  return (await result.json<string[]>())[0] ?? [];
}
