import type { ClickHouseClient } from '../../deploy/runtime/clickhouse.ts';
import type { Rank } from './rank.ts';
import type { Completions, NearWords, Statement } from './statements.ts';
import { editsAllowed, type Terms } from './terms.ts';

/** A row of the index of names: what it says of a company, for the state to confirm. */
export interface Candidate {
  name: string;
  form: string;
  ruc: string;
  /** As the register writes them. */
  estado: string;
  condicion: string;
  ubigeo: string;
  rank: Rank;
}

/** Each call is one bounded query; all reject when ClickHouse does not answer in time. */
export interface NameStore {
  candidates(statement: Statement): Promise<Candidate[]>;
  completions(word: string): Promise<Completions>;
  nearWords(terms: Terms): Promise<NearWords[]>;
  /** Rows of names, and companies that the state holds, superseded ones counted in both. */
  counts(): Promise<{ names: number; companies: number }>;
}

const maxCompletions = 64;
const maxNearWords = 40;
/** Words of one query that are searched with errors; further ones must be right. */
const maxMistypedWords = 8;

/** A search is one of many users of the engine: one thread, and an end to time and rows whatever is asked. */
const settings = {
  max_threads: 1,
  wait_end_of_query: 1,
  // With it the best rows are sifted before the index of words is read, so every name is: ten times the work (26.7).
  use_top_k_dynamic_filtering: 0,
  max_execution_time: 2,
  max_rows_to_read: '20000000',
  max_memory_usage: String(512 * 1024 * 1024),
} as const;

export function makeNameStore(clickhouse: ClickHouseClient): NameStore {
  async function rows<Row>(query: string, parameters: Record<string, unknown> = {}): Promise<Row[]> {
    const result = await clickhouse.query({
      query,
      query_params: parameters,
      format: 'JSONCompactEachRow',
      clickhouse_settings: settings,
    });
    return await result.json<Row>();
  }
  return {
    async candidates({ query, parameters }) {
      return (await rows<CandidateRow>(query, parameters)).map(candidateOf);
    },
    async completions(word) {
      const found = await rows<[string]>(
        `SELECT DISTINCT word FROM company_word WHERE startsWith(word, {word:String})
         ORDER BY length(word), word LIMIT ${maxCompletions + 1}`,
        { word },
      );
      const words = found.slice(0, maxCompletions).map(([each]) => each);
      return { words, more: found.length > maxCompletions };
    },
    async nearWords({ whole, last }) {
      const { query, parameters } = nearStatement([...whole, last].map(({ word }) => word));
      if (query === '') return [];
      const found = await rows<[number, string, number]>(query, parameters);
      return found.map(([term, word, edits]) => ({ term, word, edits }));
    },
    async counts() {
      const [row] = await rows<[string | number, string | number]>(
        `SELECT (SELECT count() FROM company_name),
           (SELECT count() FROM taxpayer WHERE ruc >= 20000000000 AND ruc <= 20999999999 AND register = 1)`,
      );
      return { names: Number(row![0]), companies: Number(row![1]) };
    },
  };
}

/** The first letter stands: almost nobody mistypes it, and it leaves a twentieth of the words to compare. */
function nearStatement(words: readonly string[]): Statement {
  const mistyped = words
    .map((word, term) => ({ word, term, edits: editsAllowed(word) }))
    .filter(({ edits }) => edits > 0)
    .slice(0, maxMistypedWords);
  const query = mistyped
    .map(
      ({ term, word, edits }) => `SELECT * FROM (
  SELECT DISTINCT ${term} AS term, word, damerauLevenshteinDistance(word, {word${term}:String}) AS edits FROM company_word
  WHERE startsWith(word, {first${term}:String}) AND length(word) BETWEEN ${word.length - edits} AND ${word.length + edits}
    AND edits BETWEEN 1 AND ${edits}
  ORDER BY edits, word LIMIT ${maxNearWords})`,
    )
    .join(' UNION ALL ');
  const parameters = mistyped.flatMap(({ term, word }) => [
    [`word${term}`, word],
    [`first${term}`, word[0]],
  ]);
  return { query, parameters: Object.fromEntries(parameters) };
}

type CandidateRow = [string, string, string, string, string, string, number, number, number, number];

function candidateOf(row: CandidateRow): Candidate {
  const [name, form, ruc, estado, condicion, ubigeo, standing, length, place, mismatch] = row;
  const rank = { place, standing, mismatch: Number(mismatch), length, ruc };
  return { name, form, ruc, estado, condicion, ubigeo, rank };
}
