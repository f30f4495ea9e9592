import type { ClickHouseClient } from '../../pipelines/runtime/clickhouse.ts';
import { makeLastKnown } from '../last-known.ts';
import { registerNotLoaded } from '../problems.ts';
import { type Question, ranksByFidelity } from './question.ts';
import { compareRanks, firstApproximatePlace, isExact, type Rank } from './rank.ts';
import { statementOf } from './statements.ts';
import { maxWords, Vocabulary } from './vocabulary.ts';

/** A row of the index of names (`ranked_name`). It may be a past name: compare it with the company's current row. */
export interface Candidate {
  name: string;
  form: string;
  ruc: string;
  rank: Rank;
}

/**
 * Candidates in the order of ranks. `isWhole` means that no other candidates exist. The tier `any` (question.ts) reads
 * only the first matching rows of the table. If it leaves rows unread, one of these may have a better rank.
 */
export interface Candidates {
  candidates: readonly Candidate[];
  isWhole: boolean;
}

/** The index of names. Every call makes at most a few bounded queries, and rejects when a query takes too long. */
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
 * the words.
 */
const wordLimits = { freshMs: 3_600_000, servesMs: 3_600_000, loadTimeoutMs: 3_000, retryAfterMs: 0, maxEntries: 1 };

/**
 * Returns how many rows each attempt before the full read may take. An attempt reads only the first matching rows in
 * the table's order. If no attempt finds enough names, the full read sorts all matching rows by rank, and a common word
 * matches very many. Even an attempt with 400 rows costs little: reading their names takes as long as finding them.
 */
function firstRowsOf({ tier, terms, after }: Question): readonly number[] {
  if (after !== null || tier === 'same' || tier === 'fewer') return [];
  if (tier === 'any') return [100];
  if (tier === 'near') return [400];
  return ranksByFidelity(terms) ? [100, 400] : [];
}

/** A search shares the engine with other queries, so it gets one thread and limits on time, rows and memory. */
const settings = {
  max_threads: 1,
  wait_end_of_query: 1,
  // The older analyzer suffices for these short queries and saves a third of their work.
  enable_analyzer: 0,
  // This filter would run before the index of words and read every name: ten times the work (ClickHouse 26.7).
  use_top_k_dynamic_filtering: 0,
  // Otherwise ClickHouse would read the columns of the query's other conditions for every name, and not only for the
  // names that the index of words has chosen.
  use_skip_indexes_on_data_read: 0,
  max_execution_time: 2,
  max_rows_to_read: '20000000',
  max_memory_usage: String(512 * 1024 * 1024),
} as const;

/**
 * @param servedEdition returns the number of the daily register's edition that is served now, or 0 without one. When it
 *   changes, `words` reads the words again.
 */
export function makeNameStore(clickhouse: ClickHouseClient, servedEdition: () => Promise<number>): NameStore {
  const vocabularies = makeLastKnown((_: number) => readVocabulary(clickhouse), wordLimits);
  async function rows<Row>(query: string, parameters: Record<string, unknown> = {}): Promise<Row[]> {
    const result = await clickhouse.query({
      query,
      query_params: parameters,
      format: 'JSONCompactEachRow',
      clickhouse_settings: settings,
    });
    return await result.json<Row>();
  }
  async function read(question: Question, firstRows: number | null): Promise<Candidate[]> {
    const { query, parameters } = statementOf(question, firstRows);
    return (await rows<CandidateRow>(query, parameters)).map(candidateOf);
  }
  return {
    async candidates(question) {
      const { tier, limit } = question;
      for (const rows of firstRowsOf(question)) {
        const first = (await read(question, rows)).sort(byRank);
        const isWhole = first.length < rows;
        if (tier === 'any' || isWhole) return { candidates: first, isWhole };
        const best = bestOf(first, question);
        if (best.length >= limit) return { candidates: best.slice(0, limit), isWhole };
      }
      const ranked = await read(question, null);
      return { candidates: ranked, isWhole: ranked.length < limit };
    },
    words: async () => vocabularies.get(await servedEdition()),
    async counts() {
      const [row] = await rows<[string | number, string | number]>(
        `SELECT (SELECT count() FROM ranked_name),
           (SELECT count() FROM taxpayer WHERE ruc >= 20000000000 AND ruc <= 20999999999 AND register = 1)`,
      );
      return { names: Number(row![0]), companies: Number(row![1]) };
    },
  };
}

function byRank(one: Candidate, other: Candidate): number {
  return compareRanks(one.rank, other.rank);
}

/**
 * Returns the rows of `first` that are certain to rank before every unread row. In the tier `name`, a name that equals
 * the query is always certain, because `first` has all such names. Every other row must meet two conditions:
 * - In the tier `near` (names a few edits away), it is one edit away.
 * - If the query has a legal form or an Ñ, the name has the same form and Ñ (`mismatch` 0), and no other row of `first`
 *   has a better `standing` (whether the company is active).
 */
function bestOf(first: readonly Candidate[], { tier, terms }: Question): readonly Candidate[] {
  const isOpen = (each: Candidate) => tier !== 'name' || !isExact(each);
  const bestStanding = Math.min(...first.filter(isOpen).map(({ rank }) => rank.standing));
  const isBest = ({ rank }: Candidate) =>
    (tier !== 'near' || rank.place === firstApproximatePlace) &&
    (!ranksByFidelity(terms) || (rank.mismatch === 0 && rank.standing === bestStanding));
  return first.filter((each) => !isOpen(each) || isBest(each));
}

async function readVocabulary(clickhouse: ClickHouseClient): Promise<Vocabulary> {
  const { stream } = await clickhouse.exec({
    query: `SELECT word, names FROM company_word
      LEFT JOIN (SELECT first_word, count() AS names FROM ranked_name GROUP BY first_word) AS beginning ON first_word = word
      ORDER BY word LIMIT ${maxWords} FORMAT TabSeparated`,
    clickhouse_settings: settings,
  });
  const vocabulary = new Vocabulary();
  let rest = '';
  for await (const piece of stream as AsyncIterable<Buffer>) {
    const lines = `${rest}${piece.toString('latin1')}`.split('\n');
    rest = lines.pop()!;
    for (const line of lines) {
      const tab = line.indexOf('\t');
      vocabulary.add(line.slice(0, tab), Number(line.slice(tab + 1)));
    }
  }
  return vocabulary;
}

type CandidateRow = [string, string, string, number, number, number, number];

function candidateOf(row: CandidateRow): Candidate {
  const [name, form, ruc, standing, length, place, mismatch] = row;
  return { name, form, ruc, rank: { place, standing, mismatch, length, ruc } };
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
