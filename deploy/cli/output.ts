import { createInterface } from 'node:readline';
import { z } from 'zod';
import type { Archive } from '../../pipelines/archive/archive.ts';
import { openArchive } from '../../pipelines/archive/open.ts';
import type { Correction } from '../../pipelines/editions/corrections.ts';
import type { Edition, EditionPartition } from '../../pipelines/editions/editions.ts';
import type { Publication } from '../../pipelines/editions/publications.ts';
import { archiveBlock } from '../../pipelines/runtime/config.ts';
import type { RegisterName } from '../../schemas/registers.ts';
import { maskRuc } from '../../schemas/ruc.ts';
import { type CommandContext, exitStopped, type OutputOptions } from './context.ts';

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

/** A line per gate: what was found, what is allowed, and in words. */
export function gateLines(gates: Publication['gates']): string[] {
  if (gates.length === 0) return ['  no gate has judged it yet'];
  return gates.flatMap(({ gate, passed, value, limit, text }) => [
    `  ${passed ? 'passed' : 'FAILED'}  ${gate}  ${figure(value)}  limit ${figure(limit)}`,
    `          ${text}`,
  ]);
}

function figure(value: number | string | null): string {
  if (value === null) return 'none';
  return typeof value === 'number' ? value.toLocaleString('en', { maximumSignificantDigits: 6 }) : value;
}

/** A line of a reject or conflict file. `raw` is the published line, which may be a person's; `ruc` stands in conflicts. */
const listedLine = z.union([
  z.object({
    line: z.number().nullable().optional(),
    reason: z.string(),
    raw: z.string().optional(),
    ruc: z.string().optional(),
  }),
  z.object({ omitted: z.number() }),
]);

export interface ListedLine {
  /** Of the publication's text, from 1; null where it has none. */
  line: number | null;
  reason: string;
  /** A company's as it is, everything else masked; null where the line holds no eleven digits. */
  ruc: string | null;
}

export interface Listed {
  lines: ListedLine[];
  /** Further ones, in the file or only counted. */
  omitted: number;
}

export async function openConfiguredArchive(context: CommandContext): Promise<Archive> {
  const { ARCHIVE_URL, WORK_DIR } = context.configuration(archiveBlock);
  return await openArchive(ARCHIVE_URL, WORK_DIR);
}

/** The first lines of a file that a comparison left, without what they hold of anybody. */
export async function readListed(
  archive: Archive,
  register: RegisterName,
  sha256: string,
  maxLines: number,
): Promise<Listed> {
  const input = await archive.read({ register, kind: 'rejects', sha256 });
  const listed: Listed = { lines: [], omitted: 0 };
  for await (const text of createInterface({ input })) {
    const found = listedLine.parse(JSON.parse(text));
    if ('omitted' in found) listed.omitted += found.omitted;
    else if (listed.lines.length >= maxLines) listed.omitted += 1;
    else listed.lines.push({ line: found.line ?? null, reason: found.reason, ruc: maskedId(found) });
  }
  return listed;
}

function maskedId({ ruc, raw = '' }: { ruc?: string | undefined; raw?: string | undefined }): string | null {
  const id = ruc ?? /(?<![0-9])[0-9]{11}(?![0-9])/.exec(raw)?.[0];
  return id === undefined ? null : maskRuc(id);
}

export function listedText({ line, reason, ruc }: ListedLine): string {
  return [`  ${line === null ? '' : `line ${line}`}`.padEnd(16), reason.padEnd(18), ruc ?? ''].join('  ').trimEnd();
}

const everyMs = 1_000;
/** A rate over less than this says nothing. */
const ratedMs = 500;

/** Turns progress into lines for standard error: at most one a second, with rate and time left. */
export class ProgressLine {
  readonly #note: (text: string) => void;
  #what = '';
  #last = '';
  #startedAt = 0;
  #saidAt = Number.NEGATIVE_INFINITY;

  constructor(note: (text: string) => void) {
    this.#note = note;
  }

  /** `rows` of `totalRows` (0: not known) of `what`; a new `what` begins to count anew. */
  tell(what: string, rows: number, totalRows: number): void {
    const now = performance.now();
    if (what !== this.#what) {
      this.#what = what;
      this.#startedAt = now;
      this.#saidAt = Number.NEGATIVE_INFINITY;
    }
    const isDone = totalRows > 0 && rows >= totalRows;
    if (now - this.#saidAt < everyMs && !isDone) return;
    this.#saidAt = now;
    const ms = now - this.#startedAt;
    const text = progressText(what, rows, totalRows, ms < ratedMs ? 0 : (rows / ms) * 1_000);
    if (text !== this.#last) this.#note(text);
    this.#last = text;
  }
}

/** What is done of what, at which rate, and the time left; what is not known is left out. */
export function progressText(what: string, rows: number, totalRows: number, rowsPerSecond: number): string {
  return `${what}: ${[amount(rows, totalRows), ...pace(rowsPerSecond, totalRows - rows)].join(', ')}`;
}

function amount(rows: number, totalRows: number): string {
  const share = Math.floor((rows / totalRows) * 100);
  return totalRows > 0 ? `${number(rows)} of ${number(totalRows)} rows (${share} %)` : `${number(rows)} rows`;
}

function pace(rate: number, left: number): string[] {
  if (rate < 1) return [];
  const seconds = left > 0 ? [`${number(Math.ceil(left / rate))} s left`] : [];
  return [`${number(Math.round(rate))} rows/s`, ...seconds];
}

function number(value: number): string {
  return value.toLocaleString('en');
}

/** One line for a person. */
export function lineOf(publication: Publication): string {
  const { id, register, fecha_dato, state, rows, edition, state_reason } = publication;
  const parts = [`#${id}`, register, fecha_dato ?? 'no date', state];
  if (edition !== null) parts.push(`edition ${edition}`);
  if (rows !== null) parts.push(`${rows.toLocaleString('en')} rows, ${publication.rejected ?? 0} rejected`);
  if (state_reason !== null) parts.push(state_reason);
  return parts.join('  ');
}

export function showSettled(context: CommandContext, options: OutputOptions, publication: Publication): void {
  context.show(options, publication, lineOf(publication));
  noteStopped(context, publication);
}

/** Says what is to be done about a publication that did not become an edition; the command then ends with `exitStopped`. */
export function noteStopped(context: CommandContext, { id, state }: Publication): void {
  if (state === 'en_cuarentena') context.note(`It waits for a decision: npx padron publications show ${id}`);
  if (['en_cuarentena', 'rechazada'].includes(state)) process.exitCode = exitStopped;
}
