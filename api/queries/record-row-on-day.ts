import type { FactsOf } from '../catalogue.ts';
import type { RecordRegister } from './record-sources.ts';
import type { EarlierRow } from './register-changes.ts';
import type { StoredRow } from './taxpayer-rows.ts';

/** A register's row of a RUC, wanted as it stood in an edition. */
export interface WantedRow {
  register: RecordRegister;
  /** As it stands now. */
  row: StoredRow;
  edition: number;
}

/** `cells` as `edition` wrote or found them; null: the register did not have the RUC. */
export type RowOnDay = { edition: number; cells: readonly string[] | null } | 'unknown';

/**
 * The current row where no later edition wrote it; else what the first later change found. A row that only a re-baseline wrote
 * later was said again and not changed: it stands as today's parser reads it, which is also how a change after the re-baseline
 * tells it. So a RUC that the old parser missed is there on the days before as well: that it was missing was never the register's word.
 * `unknown`: a later change wrote the row and is not in the history that was read.
 */
export function rowOnDay(
  { register, row, edition }: WantedRow,
  earlier: readonly EarlierRow[],
  facts: FactsOf,
): RowOnDay {
  const current = { edition: row.version, cells: row.isDeleted ? null : row.cells };
  if (row.version <= edition) return current;
  let first: EarlierRow | undefined;
  for (const change of earlier) {
    if (change.register !== register || change.edition <= edition) continue;
    if (first === undefined || change.edition < first.edition) first = change;
  }
  if (first !== undefined) return { edition: first.edition, cells: first.before };
  return facts(register, row.version).isFull ? current : 'unknown';
}
