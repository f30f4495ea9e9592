import type { ClickHouseClient } from '../../pipelines/runtime/clickhouse.ts';
import { makeLastKnown } from '../last-known.ts';
import { registerNotLoaded } from '../problems.ts';
import type { AskClickhouse } from '../stores/replicas.ts';
import { findCandidates } from './candidates.ts';
import type { Names } from './finder.ts';
import { LoadedNames } from './loaded-names.ts';
import type { Candidate, Candidates, Question } from './question.ts';
import { maxWords, Vocabulary } from './vocabulary.ts';

export type { Candidate };

/** The index of names, in memory. A call rejects when the names or words of the served edition cannot be read. */
export interface NameStore {
  candidates(question: Question): Promise<Candidates>;
  /** All words of companies' names, past names included. They are read again when the answers show a new edition. */
  words(): Promise<Pick<Vocabulary, 'known' | 'completions' | 'beginnings' | 'nearWords'>>;
  /** The number of rows in the index, and of companies' rows in `taxpayer`. Both numbers include superseded rows. */
  counts(): Promise<{ names: number; companies: number }>;
}

/**
 * Words are read once for each edition whose date the answers show, and again after an hour. Such an edition is
 * complete in ClickHouse, so its words change only when `padron rebuild` runs with a changed foldName(), which makes
 * the words. The first read waits for the names, which takes seconds, or a minute on a very busy machine.
 */
const wordLimits = { freshMs: 3_600_000, servesMs: 3_600_000, loadTimeoutMs: 130_000, retryAfterMs: 0, maxEntries: 1 };

/** Settings of the short queries of this file: one thread, because a search shares the engine with other queries. */
const settings = {
  max_threads: 1,
  enable_analyzer: 0,
  max_execution_time: 10,
  max_rows_to_read: '20000000',
  max_memory_usage: String(512 * 1024 * 1024),
} as const;

/**
 * @param servedEdition returns the number of the daily register's edition that is served now, or 0 without one. When it
 *   changes, `words` reads the words again.
 */
export function makeNameStore(
  ask: AskClickhouse,
  servedEdition: () => Promise<number>,
): NameStore & { load(): Promise<void> } {
  const loaded = new LoadedNames(ask);
  const vocabularies = makeLastKnown(async (edition: number) => {
    const names = await loaded.get(edition);
    return ask('words', (clickhouse) => readVocabulary(clickhouse, names));
  }, wordLimits);
  const words = async () => vocabularies.get(await servedEdition());
  return {
    words,
    async candidates(question) {
      const edition = await servedEdition();
      const names = await loaded.get(edition);
      return findCandidates(names, question, await vocabularies.get(edition));
    },
    counts: () => ask('counts', readCounts),
    async load() {
      await words();
    },
  };
}

async function readCounts(clickhouse: ClickHouseClient): Promise<{ names: number; companies: number }> {
  const result = await clickhouse.query({
    query: `SELECT (SELECT count() FROM ranked_name),
      (SELECT count() FROM taxpayer WHERE ruc >= 20000000000 AND ruc <= 20999999999 AND register = 1)`,
    format: 'JSONCompactEachRow',
    clickhouse_settings: { ...settings, wait_end_of_query: 1 },
  });
  const [row] = await result.json<[string | number, string | number]>();
  return { names: Number(row![0]), companies: Number(row![1]) };
}

async function readVocabulary(clickhouse: ClickHouseClient, names: readonly Names[]): Promise<Vocabulary> {
  const { stream } = await clickhouse.exec({
    query: `SELECT word FROM company_word ORDER BY word LIMIT ${maxWords} FORMAT TabSeparated`,
    clickhouse_settings: settings,
  });
  const vocabulary = new Vocabulary();
  let rest = '';
  for await (const piece of stream as AsyncIterable<Buffer>) {
    const lines = `${rest}${piece.toString('latin1')}`.split('\n');
    rest = lines.pop()!;
    for (const word of lines) {
      let begun = 0;
      for (const { index } of names) begun += index.begunBy(word);
      vocabulary.add(word, begun);
    }
  }
  return vocabulary;
}

/**
 * Rejects when the index of names lacks companies of the register. Otherwise an empty page could be a false answer.
 * @throws ApiProblem padron_no_disponible when companies are missing, or the store's own error when it does not answer
 */
export type RequireNames = () => Promise<void>;

/**
 * Counting companies reads part of `taxpayer`, and the number hardly changes, so a passed check counts for 10 minutes.
 */
const limits = { freshMs: 600_000, servesMs: 600_000, loadTimeoutMs: 3_000, retryAfterMs: 0, maxEntries: 1 };
/**
 * The index must have at least this share of the number of companies in `taxpayer`. Even a complete index may have
 * fewer rows, because both numbers include superseded rows that ClickHouse has not merged away yet. But it has far more
 * than nine tenths.
 */
const leastShare = 0.9;

/**
 * Makes the function that checks whether the index of names is complete. The index is empty after the upgrade that
 * introduced it, or when ClickHouse lost its rows. Only a passed check is remembered.
 */
export function makeRequireNames(names: NameStore): RequireNames {
  const complete = makeLastKnown(async (_: 'names') => {
    const counted = await names.counts();
    if (counted.companies > 0 && counted.names >= counted.companies * leastShare) return;
    const problem = registerNotLoaded();
    problem.cause = new Error(
      `ranked_name has ${counted.names} rows for ${counted.companies} rows of companies: run padron rebuild`,
    );
    throw problem;
  }, limits);
  return () => complete.get('names');
}
