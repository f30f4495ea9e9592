import type { ChangeFileFacts } from '../../changes/change-file.ts';
import type { Listing, RejectList } from '../listings.ts';
import type { CompareResult } from '../types.ts';
import type { Classifier } from './classify.ts';
import type { EditionWriter, WrittenEdition } from './edition-writer.ts';

type OfPublication = Pick<
  CompareResult,
  'rejectFile' | 'lines' | 'rows' | 'rejected' | 'rejectedByReason' | 'repaired' | 'duplicates' | 'emptyNames'
>;

/** Returns the part of a result that describes the publication. */
export function readCounts(classifier: Classifier, rejects: RejectList, rejectFile: Listing | null): OfPublication {
  const { lines, emptyNames } = classifier;
  const { rejected, duplicates, repaired, counts: rejectedByReason } = rejects;
  const rows = lines - rejected - duplicates;
  return { rejectFile, lines, rows, rejected, rejectedByReason, repaired, duplicates, emptyNames };
}

/** A correction reads no publication, so this part of its result is empty. */
export const nothingRead: OfPublication = {
  rejectFile: null,
  lines: 0,
  rows: 0,
  rejected: 0,
  rejectedByReason: {},
  repaired: 0,
  duplicates: 0,
  emptyNames: 0,
};

/** Returns the result of a comparison or correction after its files are written. */
export function resultOf(
  facts: ChangeFileFacts,
  { tally }: EditionWriter,
  { changeFile, overlayFile, index }: WrittenEdition,
  read: OfPublication,
): CompareResult {
  const [inserted, updated, deleted] = (['inserted', 'updated', 'deleted'] as const).map((what) => tally.total(what));
  const baseline = tally.total('baseline');
  const written = baseline + inserted! + updated!;
  return {
    ...read,
    changeFile,
    overlayFile,
    stateRows: index.rows,
    inserted: inserted!,
    updated: updated!,
    deleted: deleted!,
    baseline,
    kept: tally.kept,
    keptCells: tally.keptCells,
    unchanged: index.rows - written - (facts.isFull ? 0 : tally.kept),
    changedByColumn: tally.changedByColumn,
    changedByKind: tally.byKind,
    emptyByColumn: index.emptyByColumn,
    rowsByKind: index.rowsByKind,
    parserVersion: facts.parserVersion,
    columns: [...facts.columns],
    indexName: `${facts.register}.${changeFile.sha256}`,
  };
}
