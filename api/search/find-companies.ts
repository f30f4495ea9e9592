import { storedCondiciones, storedEstados } from '../../schemas/display-texts.ts';
import type { SearchQuery } from '../../schemas/http/search.ts';
import { isCompany } from '../../schemas/ruc.ts';
import { type Company, type CurrentRows, companyNow, confirm } from './confirm.ts';
import { firstApproximatePlace, type Rank, wordsPlace } from './rank.ts';
import { byName, byNearWords, byWords, type Completions, type Filters, type Statement } from './statements.ts';
import type { NameStore } from './store.ts';
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
    const page = new Page(parts, terms, filtersOf(query), limite + 1);
    if (after === null || after.place < wordsPlace) await page.fill((asked) => byName({ terms, ...asked }), after);
    if (!page.isFull && (after === null || after.place <= wordsPlace)) {
      const completions = await page.completions();
      await page.fill((asked) => byWords({ terms, ...asked }, completions), after);
    }
    const tiersBefore = page.hits.length;
    // Only where what was typed gave less than one page in all: a page further on is never filled up with guesses.
    const mayGuess = after === null ? tiersBefore < limite : after.place >= firstApproximatePlace;
    if (!page.isFull && mayGuess) await page.guess(after);
    return page.cut(limite);
  };
}

const nothing: FoundCompanies = { hits: [], next: null };

type MakeStatement = (asked: { filters: Filters; after: Rank | null; limit: number }) => Statement;

/** One page being filled, tier after tier. */
class Page {
  readonly hits: Hit[] = [];
  readonly #parts: { names: NameStore; taxpayers: CurrentRows };
  readonly #terms: Terms;
  readonly #filters: Filters;
  readonly #wanted: number;
  #completions: Promise<Completions> | undefined;
  /** Set where rounds ran out before the page was full: it ends here, though there is more. */
  #stoppedAt: Rank | null = null;

  constructor(parts: { names: NameStore; taxpayers: CurrentRows }, terms: Terms, filters: Filters, wanted: number) {
    this.#parts = parts;
    this.#terms = terms;
    this.#filters = filters;
    this.#wanted = wanted;
  }

  get isFull(): boolean {
    return this.hits.length >= this.#wanted || this.#stoppedAt !== null;
  }

  completions(): Promise<Completions> {
    this.#completions ??= this.#parts.names.completions(this.#terms.last.word);
    return this.#completions;
  }

  async guess(after: Rank | null): Promise<void> {
    const [completions, near] = await Promise.all([this.completions(), this.#parts.names.nearWords(this.#terms)]);
    if (near.length === 0) return;
    await this.fill((asked) => byNearWords({ terms: this.#terms, ...asked }, completions, near), after);
  }

  async fill(statement: MakeStatement, after: Rank | null): Promise<void> {
    let from = after;
    for (let round = 0; round < maxRounds; round += 1) {
      const limit = this.#wanted - this.hits.length + spareCandidates;
      const candidates = await this.#parts.names.candidates(statement({ filters: this.#filters, after: from, limit }));
      this.hits.push(...(await confirm(this.#parts.taxpayers, candidates)));
      if (this.hits.length >= this.#wanted || candidates.length < limit) return;
      from = candidates.at(-1)!.rank;
    }
    this.#stoppedAt = from;
  }

  cut(limite: number): FoundCompanies {
    const hits = this.hits.slice(0, limite);
    const isMore = this.hits.length > limite;
    return { hits, next: isMore ? hits.at(-1)!.rank : this.#stoppedAt };
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
