import type { ClickHouseClient } from '../../pipelines/runtime/clickhouse.ts';
import { makeLastKnown } from '../last-known.ts';
import { compareRanks, firstApproximatePlace, isExact, type Rank } from './rank.ts';
import { hasTruth, type Question, statementOf } from './statements.ts';
import { maxWords, Vocabulary } from './vocabulary.ts';

/** A row of the index of names: what it says of a company, for the state to confirm. */
export interface Candidate {
  name: string;
  form: string;
  ruc: string;
  rank: Rank;
}

/** In the order of ranks; `isWhole`: no other answers the question. Of tier `any` that is not whole, the first in the table's order. */
export interface Candidates {
  candidates: readonly Candidate[];
  isWhole: boolean;
}

/** What is asked of the store is a few bounded queries; all reject when one is needed and does not answer in time. */
export interface NameStore {
  candidates(question: Question): Promise<Candidates>;
  /** Of the edition that answers are dated by. */
  words(): Promise<Pick<Vocabulary, 'known' | 'completions' | 'beginnings' | 'nearWords'>>;
  /** Rows of names, and companies that the state holds, superseded ones counted in both. */
  counts(): Promise<{ names: number; companies: number }>;
}

/**
 * Words come with an edition, and what is held is read after the served one was complete. Within one edition they only change by
 * a rebuild under another folding.
 */
const wordLimits = { freshMs: 3_600_000, servesMs: 3_600_000, loadTimeoutMs: 3_000, retryAfterMs: 0, maxEntries: 1 };

/**
 * How many of the first in the table's order are read, one try after another, where that is not the order of ranks: reading the names
 * of 400 costs what finding them does, and reading all that match a common word far more. None: they are read in the order of ranks.
 */
function firstRowsOf({ tier, terms, after }: Question): readonly number[] {
  if (after !== null) return [];
  if (tier === 'any') return [100];
  if (tier === 'near') return [400];
  return hasTruth(terms) ? [100, 400] : [];
}

/** A search is one of many users of the engine: one thread, and an end to time and rows whatever is asked. */
const settings = {
  max_threads: 1,
  wait_end_of_query: 1,
  // These queries are short: the older analysis, which knows all that they say, is a third of their work less.
  enable_analyzer: 0,
  // With it the best rows are sifted before the index of words is read, so every name is: ten times the work (26.7).
  use_top_k_dynamic_filtering: 0,
  // Else columns of other conditions are read for every name before the index of words has said which.
  use_skip_indexes_on_data_read: 0,
  max_execution_time: 2,
  max_rows_to_read: '20000000',
  max_memory_usage: String(512 * 1024 * 1024),
} as const;

/** `servedEdition`: the number of the daily register's edition that answers are dated by. */
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
 * Of the first names in the table's order those that nothing comes before: of the first place, and of the best standing those that
 * are true to what was typed. Names that are what was typed are always among the first.
 */
function bestOf(first: readonly Candidate[], { tier, terms }: Question): readonly Candidate[] {
  const isOpen = (each: Candidate) => tier !== 'name' || !isExact(each);
  const bestStanding = Math.min(...first.filter(isOpen).map(({ rank }) => rank.standing));
  const isBest = ({ rank }: Candidate) =>
    (tier !== 'near' || rank.place === firstApproximatePlace) &&
    (!hasTruth(terms) || (rank.mismatch === 0 && rank.standing === bestStanding));
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

/** Rejects when the index of names does not hold the companies that the state holds: an empty page would be no answer then. */
export type RequireNames = () => Promise<void>;

/** Counting companies reads a part of the state; how many there are hardly moves. */
const limits = { freshMs: 600_000, servesMs: 600_000, loadTimeoutMs: 3_000, retryAfterMs: 0, maxEntries: 1 };
/** Superseded rows of either side count until they are merged away; far less than this much is missing in a whole index. */
const leastShare = 0.9;

export class NamesIncomplete extends Error {
  override name = 'NamesIncomplete';
  readonly code = 'names_incomplete';

  constructor(names: number, companies: number) {
    super(`ranked_name has ${names} rows for ${companies} of companies: make it anew with padron rebuild`);
  }
}

/**
 * The index is empty where it came to an installation whose state was there before, and where a store lost it. Only a yes is
 * kept: a no is an error, asked again by the next search.
 */
export function makeRequireNames(names: NameStore): RequireNames {
  const complete = makeLastKnown(async (_: 'names') => {
    const counted = await names.counts();
    if (counted.companies > 0 && counted.names >= counted.companies * leastShare) return;
    throw new NamesIncomplete(counted.names, counted.companies);
  }, limits);
  return () => complete.get('names');
}
