import { standingOf } from '../../pipelines/consumers/company-names.ts';
import { storedCondiciones, storedEstados } from '../../schemas/display-texts.ts';
import type { SearchQuery } from '../../schemas/http/search.ts';
import { type FoldedName, foldName } from '../../schemas/names/fold.ts';
import { registerOfCode } from '../../schemas/registers.ts';
import { isCompany } from '../../schemas/ruc.ts';
import type { Catalogue } from '../catalogue.ts';
import type { StoredRow, Taxpayers } from '../queries/look-up.ts';
import { rowsByRegister, ubigeoOf } from '../queries/record.ts';
import { propose } from './propose.ts';
import type { Filters } from './question.ts';
import { isExact, type Rank } from './rank.ts';
import type { Candidate, NameStore } from './store.ts';
import { rucTyped, termsOf } from './terms.ts';

export interface Hit {
  company: Company;
  rank: Rank;
}

export interface FoundCompanies {
  hits: readonly Hit[];
  /** The rank after which the next page continues; null when nothing is left. */
  next: Rank | null;
}

/**
 * Finds at most `limite` companies whose names match a query, best first, after the rank `after`. The index of names
 * (table `ranked_name`) proposes candidates. Only candidates that agree with the company's current row in the register
 * are returned. Rejects when ClickHouse does not answer in time.
 */
export type FindCompanies = (query: SearchQuery, limite: number, after: Rank | null) => Promise<FoundCompanies>;

/**
 * Limits of one page. `most` is the largest number of rounds of candidates. After the last round, the page is returned
 * even with too few hits. Each round after the first asks for `more` candidates beyond the page.
 */
const rounds = { most: 3, more: 0 };
/**
 * Limits of one page of a search by ubigeo. One company in a thousand has no ubigeo in the daily register. All of these
 * are candidates, and confirm() drops those whose ubigeo in the monthly register is not the wanted one. So a page may
 * need more rounds and more candidates.
 */
const roundsByPlace = { most: 6, more: 200 };

export function makeFindCompanies(dependencies: { names: NameStore; taxpayers: CurrentRows }): FindCompanies {
  return async (query, limite, after) => {
    const ruc = rucTyped(query.q);
    if (ruc !== null) return after === null ? await byRuc(dependencies.taxpayers, ruc, query) : nothing;
    const terms = termsOf(query.q);
    if (terms === null) return nothing;
    const filters = filtersOf(query);
    const search = { names: dependencies.names, terms, filters, guessBelow: after === null ? limite : 0 };
    const hits: Hit[] = [];
    const { most, more } = filters.ubigeo === null ? rounds : roundsByPlace;
    let from = after;
    // One hit more than the page holds shows whether there is a next page.
    for (let round = 0; round < most; round += 1) {
      const enough = limite + 1 - hits.length + (round === 0 ? 0 : more);
      const { candidates, isLast } = await propose(search, from, enough, hits);
      const confirmed = await confirm(dependencies.taxpayers, candidates, filters);
      hits.push(...confirmed);
      if (hits.length > limite) return { hits: hits.slice(0, limite), next: hits[limite - 1]!.rank };
      // propose() asks for no approximate names when the candidates fill the page or one of their names equals the
      // query. If confirm() dropped such a candidate, another round must ask for approximate names after all.
      const wantsGuesses = hits.length < search.guessBelow && !hits.some(isExact);
      const isUnasked = wantsGuesses && confirmed.length < candidates.length;
      if (isLast && !isUnasked) return { hits, next: null };
      from = candidates.at(-1)!.rank;
    }
    return { hits, next: from };
  };
}

const nothing: FoundCompanies = { hits: [], next: null };

/** A query that is a RUC finds one company or nothing, and never a natural person. */
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

export type CurrentRows = Pick<Taxpayers, 'find' | 'findMany'>;

/** Leaves out the rows of registers whose first edition is not complete, because look-ups do not show them either. */
export function makeServedRows(taxpayers: CurrentRows, catalogue: Pick<Catalogue, 'snapshot'>): CurrentRows {
  const findMany: CurrentRows['findMany'] = async (rucs) => {
    const served = await catalogue.snapshot();
    const isServed = ({ register }: StoredRow) => served[registerOfCode.get(register)!] !== undefined;
    return (await taxpayers.findMany(rucs)).map((rows) => rows.filter(isServed));
  };
  return { findMany, find: async (ruc) => (await findMany([ruc]))[0]! };
}

/** A company that is in the daily register now. `estado` and `condicion` are texts as the register writes them. */
interface Company {
  ruc: string;
  nombre: string;
  estado: string;
  condicion: string;
  /** The code that a look-up shows: the daily register's, else the monthly register's. */
  ubigeo: string | null;
}

/** Returns null when the daily register does not have the company, or no longer has it. */
function companyNow(ruc: string, rows: readonly StoredRow[]): Company | null {
  const { padron_reducido: daily, padron_mensual: monthly } = rowsByRegister(rows);
  if (daily === undefined || daily.isDeleted) return null;
  const [nombre = '', estado = '', condicion = ''] = daily.cells;
  const ubigeo = ubigeoOf({ padron_reducido: daily.cells, padron_mensual: monthly?.cells ?? null });
  return { ruc, nombre, estado, condicion, ubigeo };
}

/**
 * Returns the candidates that agree with the company's current row in the register, in their order, each company once.
 * Other candidates are dropped: superseded rows that ClickHouse has not merged away yet, names that an earlier parser
 * read, and rows of an unfinished edition. The company of a dropped candidate is not lost, because the index also has a
 * row with its current name, elsewhere in the order.
 */
async function confirm(taxpayers: CurrentRows, candidates: readonly Candidate[], filters: Filters): Promise<Hit[]> {
  const rucs = [...new Set(candidates.map(({ ruc }) => ruc))];
  const rows = new Map((await taxpayers.findMany(rucs)).map((found, index) => [rucs[index]!, found]));
  const shown = new Map<string, Hit>();
  for (const candidate of candidates) {
    const company = companyNow(candidate.ruc, rows.get(candidate.ruc)!);
    if (company === null || shown.has(company.ruc) || !agreesWith(candidate, company) || !passes(company, filters))
      continue;
    shown.set(company.ruc, { company, rank: candidate.rank });
  }
  return [...shown.values()];
}

function agreesWith({ name, form, rank }: Candidate, company: Company): boolean {
  if (rank.standing !== standingOf(company)) return false;
  const folded = foldName(company.nombre);
  return (folded.base === name && folded.form === form) || isSameText(foldName(`${name} ${form}`), folded);
}

/**
 * Compares two names without their spaces. The index may still have names as the last release read them, with words
 * joined otherwise or without the legal form. Until the index is rebuilt, such names must still be found.
 */
function isSameText(...names: [FoldedName, FoldedName]): boolean {
  const [one, other] = names.map(({ base, form }) => `${base}${form}`.replaceAll(' ', ''));
  return one === other;
}

function passes({ estado, condicion, ubigeo }: Company, filters: Filters): boolean {
  return (
    (filters.estados?.includes(estado) ?? true) &&
    (filters.condiciones?.includes(condicion) ?? true) &&
    (filters.ubigeo === null || (ubigeo?.startsWith(filters.ubigeo) ?? false))
  );
}
