import { storedCondiciones, storedEstados } from '../../schemas/display-texts.ts';
import type { SearchQuery } from '../../schemas/http/search.ts';
import { isCompany } from '../../schemas/ruc.ts';
import { type Company, type CurrentRows, companyNow, confirm } from './confirm.ts';
import { firstApproximatePlace, type Rank, wordsPlace } from './rank.ts';
import { byName, byNearWords, byWords, type Completions, type Filters, type Statement } from './statements.ts';
import type { Candidate, NameStore } from './store.ts';
import { rucTyped, type Terms, termsOf } from './terms.ts';

export interface Hit {
  company: Company;
  rank: Rank;
}

export interface FoundCompanies {
  hits: readonly Hit[];
  /** Where the search stands after them; null: nothing is left. */
  next: Rank | null;
}

/**
 * Companies whose names answer a query, from a rank on, best first, at most `limite`. The index of names proposes and the
 * state of the register disposes: what it does not confirm is not shown, whatever the index still holds.
 * Rejects when ClickHouse does not answer in time.
 */
export type FindCompanies = (query: SearchQuery, limite: number, after: Rank | null) => Promise<FoundCompanies>;

/** Candidates of which a page may be made; a page that needs more rounds is given short. */
const spareCandidates = 5;
const maxRounds = 3;

export function makeFindCompanies(parts: { names: NameStore; taxpayers: CurrentRows }): FindCompanies {
  return async (query, limite, after) => {
    const ruc = rucTyped(query.q);
    if (ruc !== null) return after === null ? await byRuc(parts.taxpayers, ruc, query) : nothing;
    const terms = termsOf(query.q);
    if (terms === null) return nothing;
    const proposals = new Proposals(parts.names, terms, filtersOf(query), after === null ? limite : 0);
    const hits: Hit[] = [];
    let from = after;
    // One hit more than the page tells whether there is a next one.
    for (let round = 0; round < maxRounds; round += 1) {
      const { candidates, isLast } = await proposals.next(from, limite + 1 - hits.length, hits.length);
      hits.push(...(await confirm(parts.taxpayers, candidates)));
      if (hits.length > limite) return { hits: hits.slice(0, limite), next: hits[limite - 1]!.rank };
      if (isLast) return { hits, next: null };
      from = candidates.at(-1)!.rank;
    }
    return { hits, next: from };
  };
}

const nothing: FoundCompanies = { hits: [], next: null };

/** What the index says, tier after tier. */
class Proposals {
  readonly #names: NameStore;
  readonly #terms: Terms;
  readonly #filters: Filters;
  /** Guesses are made only where everything before them is less than this. */
  readonly #guessBelow: number;
  #completions: Promise<Completions> | undefined;

  constructor(names: NameStore, terms: Terms, filters: Filters, guessBelow: number) {
    this.#names = names;
    this.#terms = terms;
    this.#filters = filters;
    this.#guessBelow = guessBelow;
  }

  /** A tier is asked while those before it have not given `enough`. `given`: confirmed hits before these. */
  async next(
    after: Rank | null,
    enough: number,
    given: number,
  ): Promise<{ candidates: readonly Candidate[]; isLast: boolean }> {
    const limit = enough + spareCandidates;
    const found: Candidate[] = [];
    const place = after?.place ?? 0;
    const ask = async (statement: Statement) => void found.push(...(await this.#names.candidates(statement)));
    const asked = () => ({ terms: this.#terms, filters: this.#filters, after, limit: limit - found.length });
    if (place < wordsPlace) await ask(byName(asked()));
    if (found.length < enough && place <= wordsPlace) await ask(byWords(asked(), await this.#ends()));
    const mayGuess = place >= firstApproximatePlace || given + found.length < this.#guessBelow;
    if (found.length < enough && mayGuess) {
      const [ends, near] = await Promise.all([this.#ends(), this.#names.nearWords(this.#terms)]);
      if (near.length > 0) await ask(byNearWords(asked(), ends, near));
    }
    return { candidates: found, isLast: found.length < enough };
  }

  #ends(): Promise<Completions> {
    this.#completions ??= this.#names.completions(this.#terms.last.word);
    return this.#completions;
  }
}

/** A RUC that is typed is no name: one company or nothing, and never a natural person. */
async function byRuc(taxpayers: CurrentRows, ruc: string, query: SearchQuery): Promise<FoundCompanies> {
  if (!isCompany(ruc)) return nothing;
  const company = companyNow(ruc, await taxpayers.find(ruc));
  if (company === null || !passes(company, filtersOf(query))) return nothing;
  return { hits: [{ company, rank: { place: 0, standing: 0, mismatch: 0, length: 0, ruc } }], next: null };
}

function filtersOf({ estado, condicion, ubigeo }: SearchQuery): Filters {
  return {
    estados: estado === undefined ? null : storedEstados(estado),
    condiciones: condicion === undefined ? null : storedCondiciones(condicion),
    ubigeo: ubigeo ?? null,
  };
}

function passes({ estado, condicion, ubigeo }: Company, filters: Filters): boolean {
  return (
    (filters.estados?.includes(estado) ?? true) &&
    (filters.condiciones?.includes(condicion) ?? true) &&
    ubigeo.startsWith(filters.ubigeo ?? '')
  );
}
