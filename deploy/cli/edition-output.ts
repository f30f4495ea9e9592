import type { Correction } from '../../pipelines/editions/corrections.ts';
import type { Edition, EditionPartition } from '../../pipelines/editions/editions.ts';
import type { Publication } from '../../pipelines/editions/publications.ts';
import { gateLines } from './gate-lines.ts';
import { type Listed, listedText } from './listed-lines.ts';

/** An edition with all that the catalogue knows of it. */
export interface EditionFacts extends Edition {
  /** Where it ends in Kafka; empty before it is published. */
  partitions: EditionPartition[];
  /** The order to undo it; null when nobody gave any. */
  corrected_by: Correction | null;
  /** Of its publication. */
  gates: Publication['gates'];
  /** Of a correction, when asked for: rows that it left as they are. */
  conflicts?: Listed;
}

/** One line for a person. */
export function editionLine(edition: Edition): string {
  const steps = [
    edition.publicada_at === null ? null : 'published',
    edition.materializada_at === null ? null : 'materialised',
    edition.avisada_at === null ? null : 'notified',
  ].filter((step) => step !== null);
  return [
    `${edition.register} ${edition.number}`,
    edition.fecha_dato,
    `${edition.changes.toLocaleString('en')} changes`,
    ...(edition.corrects === null ? [] : [`undoes ${edition.corrects}`]),
    steps.at(-1) ?? 'frozen',
    `detected ${edition.detected_at.toISOString()}`,
  ].join('  ');
}

/** Counts that a person looks for first; the document has all. */
const shownCounts = [
  ...(['rows', 'stateRows', 'baseline', 'inserted', 'updated', 'deleted', 'rejected', 'repaired'] as const),
  ...(['duplicates', 'kept', 'keptCells', 'conflicts', 'notices'] as const),
];

export function editionLines(edition: EditionFacts): string[] {
  const { counts, publication_id, corrects, corrected_by, overlay_sha256, partitions, gates } = edition;
  const figures = shownCounts.flatMap((name) => {
    const value = counts[name];
    return typeof value === 'number' && value > 0 ? [`  ${name}: ${value.toLocaleString('en')}`] : [];
  });
  return [
    editionLine(edition),
    publication_id === null ? `  undoes edition ${corrects}` : `  from publication #${publication_id}`,
    ...(corrected_by === null ? [] : [`  ${undoneText(corrected_by)}`]),
    ...figures,
    `  change file ${edition.change_file_sha256}`,
    overlay_sha256 === null ? '  no overlay: the state is the publication' : `  overlay ${overlay_sha256}`,
    ...partitions.map(
      ({ partition, rows, end_offset }) => `  partition ${partition}: ${rows} rows, ends at ${end_offset}`,
    ),
    ...(publication_id === null ? [] : gateLines(gates)),
    ...(edition.conflicts === undefined ? [] : conflictLines(edition.conflicts)),
  ];
}

function undoneText({ edition, state, state_reason, requested_by, reason }: Correction): string {
  const order = `ordered by ${requested_by}${reason === null ? '' : ` (${reason})`}`;
  if (edition !== null) return `undone by edition ${edition}, ${order}`;
  return `to be undone, ${state}${state_reason === null ? '' : ` (${state_reason})`}, ${order}`;
}

function conflictLines({ lines, omitted }: Listed): string[] {
  if (lines.length === 0) return ['  no conflicts'];
  return [...lines.map(listedText), ...(omitted === 0 ? [] : [`  and ${omitted.toLocaleString('en')} more`])];
}
