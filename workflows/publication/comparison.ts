import { z } from 'zod';
import type { KindCounts } from '../../pipelines/diff/types.ts';
import type { Edition } from '../../pipelines/editions/editions.ts';
import type { FrozenDifference } from '../../pipelines/editions/freeze.ts';
import type { Head } from '../../pipelines/editions/heads.ts';
import type { Publication } from '../../pipelines/editions/publications.ts';
import { type Column, type Register, registers } from '../../schemas/registers.ts';
import type { ColumnFacts, GateFacts, KindFacts, NoticeFacts } from './gates.ts';

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

/** Counts of a comparison, for the gates and for operators. They are stored with the edition as `counts`. */
const countsSchema = z.object({
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
  /** Lines that were kept after a control byte was replaced by a space. */
  repaired: count.default(0),
  /** Rows of the undone edition that a correction leaves, because a later edition has changed them again. */
  conflicts: count.default(0),
  /**
   * Events that the edition would make on the watch lists, as these were at the comparison. Absent for corrections, and
   * for registers that make no events.
   */
  notices: count.optional(),
  /** Members of all watch lists then. Editions of older releases have their number of companies instead. */
  listMembers: count.optional(),
});
type Counts = z.output<typeof countsSchema>;

/** The column `compare_result` of publications and corrections: base edition, file hashes and counts, but no rows. */
export const comparisonSchema = z.object({
  baseEdition: count,
  edition: count,
  /** Milliseconds since 1970. Every record of the change file holds this time. */
  detectedAt: count,
  changeFileSha256: z.string(),
  overlaySha256: z.string().nullable(),
  rejectsSha256: z.string().nullable(),
  parserVersion: count,
  columns: z.array(z.string()),
  counts: countsSchema,
});
export type Comparison = z.output<typeof comparisonSchema>;

/**
 * Whether a stored comparison was made with this head and with this release's parser version and columns. If not, the
 * comparison is made again.
 */
export function stillStands({ compare_result }: { compare_result: unknown }, head: Pick<Head, 'register' | 'edition'>) {
  const found = comparisonSchema.safeParse(compare_result).data;
  const { parserVersion, columns } = registers[head.register];
  return (
    found?.baseEdition === head.edition &&
    found.parserVersion === parserVersion &&
    found.columns.join() === columns.map(({ name }) => name).join()
  );
}

export function comparisonOf(record: { compare_result: unknown }): Comparison {
  return comparisonSchema.parse(record.compare_result);
}

export function differenceOf(record: { compare_result: unknown }): FrozenDifference {
  const comparison = comparisonOf(record);
  const { inserted, updated, deleted, baseline } = comparison.counts;
  return {
    ...comparison,
    detectedAt: new Date(comparison.detectedAt),
    changes: inserted + updated + deleted + baseline,
  };
}

/**
 * Returns the facts that the gates judge.
 * @param headEdition the head, with its parser version, columns and counts of empty cells; null before a first edition
 * @param recent counts of the last editions, newest first
 */
export function gateFactsOf(
  publication: Publication,
  head: Head,
  headEdition: Edition | null,
  recent: readonly unknown[],
): GateFacts {
  const { counts } = comparisonOf(publication);
  const facts = { fechaDato: publication.fecha_dato ?? '', rows: counts.rows, rejected: counts.rejected };
  if (headEdition === null) return { ...facts, previous: null };
  const usual = recent.flatMap((each) => countsSchema.safeParse(each).data ?? []);
  const register = registers[publication.register];
  return {
    ...facts,
    previous: {
      fechaDato: head.fecha_dato ?? '',
      rows: rowsBefore(counts.changedByKind.company) + rowsBefore(counts.changedByKind.other),
      companies: rowsBefore(counts.changedByKind.company),
      kinds: (['company', 'other'] as const).map((kind) => kindFacts(kind, counts, usual)),
      columns: register.columns.map((column) => columnFacts(column, register, headEdition, counts, usual)),
      keptCells: counts.keptCells,
      notices: noticeFacts(counts, usual),
    },
  };
}

function columnFacts(
  { name, event }: Column,
  register: Register,
  headEdition: Edition,
  counts: Counts,
  usual: readonly Counts[],
): ColumnFacts {
  const before = countsSchema.parse(headEdition.counts).emptyByColumn[name] ?? 0;
  const isComparable = headEdition.parser_version === register.parserVersion && headEdition.columns.includes(name);
  return {
    column: name,
    emptyBefore: isComparable ? before : null,
    emptyNow: counts.emptyByColumn[name] ?? 0,
    changedCompanies: event === undefined ? null : (counts.changedByKind.company.changedByColumn[name] ?? 0),
    usualChangedShares: usual.map(({ changedByKind: { company } }) => {
      return (company.changedByColumn[name] ?? 0) / Math.max(1, rowsBefore(company));
    }),
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

function noticeFacts(counts: Counts, usual: readonly Counts[]): NoticeFacts | null {
  const { notices, listMembers: members } = counts;
  if (notices === undefined || members === undefined) return null;
  const usualPerMember = usual.flatMap((then) =>
    then.notices === undefined || !then.listMembers ? [] : [then.notices / then.listMembers],
  );
  return { notices, members, usualPerMember };
}

/** New rows count as changed, because many new rows at once are as doubtful as many rewritten rows. */
function changed(counts: KindCounts): number {
  return counts.updated + counts.inserted;
}

/**
 * Number of rows in the previous edition. Rows with op `r` are not subtracted: a re-baseline writes them, but the
 * previous edition has them too. For a first edition, whose rows all have op `r`, the number is meaningless.
 */
function rowsBefore(counts: KindCounts): number {
  return counts.rows - counts.inserted + counts.deleted;
}
