import { standingOf } from '../../pipelines/consumers/company-names.ts';
import { foldName } from '../../schemas/names.ts';
import { padronReducido } from '../../schemas/registers.ts';
import type { StoredRow } from '../queries/taxpayer-rows.ts';
import type { Taxpayers } from '../queries/taxpayers.ts';
import type { Rank } from './rank.ts';
import type { Filters } from './statements.ts';
import type { Candidate } from './store.ts';

export type CurrentRows = Pick<Taxpayers, 'find' | 'findMany'>;

/** A company as the daily register has it now; texts as written there. */
export interface Company {
  ruc: string;
  nombre: string;
  estado: string;
  condicion: string;
  ubigeo: string;
}

/** null: the register does not have it, or no longer. */
export function companyNow(ruc: string, rows: readonly StoredRow[]): Company | null {
  const row = rows.find(({ register }) => register === padronReducido.code);
  if (row === undefined || row.isDeleted) return null;
  const [nombre = '', estado = '', condicion = '', ubigeo = ''] = row.cells;
  return { ruc, nombre, estado, condicion, ubigeo };
}

/**
 * The candidates that are true of the state, in their order, each company once. A superseded row that is not merged away yet,
 * a name from before a change of the parser, a row of an edition that is being written: none of them passes, and the
 * company's own row stands at its own place.
 */
export async function confirm(
  taxpayers: CurrentRows,
  candidates: readonly Candidate[],
  filters: Filters,
): Promise<{ company: Company; rank: Rank }[]> {
  const rucs = [...new Set(candidates.map(({ ruc }) => ruc))];
  const rows = new Map((await taxpayers.findMany(rucs)).map((found, index) => [rucs[index]!, found]));
  const shown = new Map<string, { company: Company; rank: Rank }>();
  for (const candidate of candidates) {
    const company = companyNow(candidate.ruc, rows.get(candidate.ruc)!);
    if (company === null || shown.has(company.ruc) || !isTrueOf(candidate, company) || !passes(company, filters))
      continue;
    shown.set(company.ruc, { company, rank: candidate.rank });
  }
  return [...shown.values()];
}

function isTrueOf({ name, form, rank }: Candidate, company: Company): boolean {
  if (rank.standing !== standingOf(company)) return false;
  const folded = foldName(company.nombre);
  return folded.base === name && folded.form === form;
}

export function passes({ estado, condicion, ubigeo }: Company, filters: Filters): boolean {
  return (
    (filters.estados?.includes(estado) ?? true) &&
    (filters.condiciones?.includes(condicion) ?? true) &&
    ubigeo.startsWith(filters.ubigeo ?? '')
  );
}
