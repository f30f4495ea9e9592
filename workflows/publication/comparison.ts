import { z } from 'zod';
import type { CompareResult, KindCounts } from '../../pipelines/diff/types.ts';
import type { FrozenDifference } from '../../pipelines/editions/freeze.ts';
import type { Head } from '../../pipelines/editions/heads.ts';
import type { Publication } from '../../pipelines/editions/publications.ts';
import { registers } from '../../schemas/registers.ts';
import type { GateFacts, KindFacts } from './gates.ts';

const count = z.number().int().nonnegative();
const byName = z.record(z.string(), count);
const kindCounts = z.object({
  rows: count,
  baseline: count,
  inserted: count,
  updated: count,
  deleted: count,
  changedByColumn: byName,
}) satisfies z.ZodType<KindCounts>;

/** Counts of a comparison: what gates judge and operators read. Kept with the edition as `counts`. */
export const countsSchema = z.object({
  lines: count,
  rows: count,
  stateRows: count,
  rejected: count,
  rejectedByReason: byName,
  duplicates: count,
  emptyNames: count,
  inserted: count,
  updated: count,
  deleted: count,
  baseline: count,
  kept: count,
  keptCells: count,
  unchanged: count,
  changedByColumn: byName,
  changedByKind: z.object({ company: kindCounts, other: kindCounts }),
  emptyByColumn: byName,
  rowsByKind: byName,
});
export type Counts = z.output<typeof countsSchema>;

/** `publication.compare_result`: the base, the files in the archive, the counts. Ids, hashes and numbers only. */
export const comparisonSchema = z.object({
  baseEdition: count,
  edition: count,
  /** Milliseconds since 1970; written into every record of the change file. */
  detectedAt: count,
  changeFileSha256: z.string(),
  overlaySha256: z.string().nullable(),
  rejectsSha256: z.string().nullable(),
  counts: countsSchema,
});
export type Comparison = z.output<typeof comparisonSchema>;

export function countsOf(result: CompareResult): Counts {
  return countsSchema.parse(result);
}

export function comparisonOf(publication: Publication): Comparison {
  return comparisonSchema.parse(publication.compare_result);
}

export function differenceOf(publication: Publication): FrozenDifference {
  const comparison = comparisonOf(publication);
  const { inserted, updated, deleted, baseline } = comparison.counts;
  return {
    baseEdition: comparison.baseEdition,
    edition: comparison.edition,
    detectedAt: new Date(comparison.detectedAt),
    changeFileSha256: comparison.changeFileSha256,
    overlaySha256: comparison.overlaySha256,
    changes: inserted + updated + deleted + baseline,
    counts: comparison.counts,
  };
}

/**
 * What the gates look at. `headCounts` are the head's edition's own (empty cells before), `recent` those of the last
 * editions, newest first.
 */
export function gateFactsOf(
  publication: Publication,
  head: Head,
  headCounts: unknown,
  recent: readonly unknown[],
): GateFacts {
  const { counts } = comparisonOf(publication);
  const facts = { fechaDato: publication.fecha_dato ?? '', rows: counts.rows, rejected: counts.rejected };
  if (head.edition === 0) return { ...facts, previous: null };
  const before = countsSchema.parse(headCounts);
  const usual = recent.flatMap((each) => countsSchema.safeParse(each).data ?? []);
  const { columns } = registers[publication.register];
  return {
    ...facts,
    previous: {
      fechaDato: head.fecha_dato ?? '',
      rows: rowsBefore(counts.changedByKind.company) + rowsBefore(counts.changedByKind.other),
      companies: rowsBefore(counts.changedByKind.company),
      kinds: (['company', 'other'] as const).map((kind) => kindFacts(kind, counts, usual)),
      columns: columns.map((column) => ({
        column: column.name,
        emptyBefore: before.emptyByColumn[column.name] ?? 0,
        emptyNow: counts.emptyByColumn[column.name] ?? 0,
        changedCompanies: 'event' in column ? (counts.changedByKind.company.changedByColumn[column.name] ?? 0) : null,
      })),
    },
  };
}

function kindFacts(kind: 'company' | 'other', counts: Counts, usual: readonly Counts[]): KindFacts {
  const now = counts.changedByKind[kind];
  return {
    kind,
    previousRows: rowsBefore(now),
    changed: changed(now),
    deleted: now.deleted,
    usualChangedShares: usual.map((each) => {
      const then = each.changedByKind[kind];
      return changed(then) / Math.max(1, rowsBefore(then));
    }),
  };
}

/** New rows count as changed: a publication that suddenly brings many is as doubtful as one that rewrites many. */
function changed(counts: KindCounts): number {
  return counts.updated + counts.inserted;
}

function rowsBefore(counts: KindCounts): number {
  return counts.rows - counts.inserted - counts.baseline + counts.deleted;
}
