import { type RegisterName, registers } from '../../schemas/registers.ts';
import { type Archive, ArchiveError } from '../archive/archive.ts';
import { findEdition, publicationUnder } from '../editions/editions.ts';
import { readHead } from '../editions/heads.ts';
import type { Pool } from '../runtime/postgres.ts';
import { type EditionFile, type PublicationInput, ReplayError, type VerifyInput } from './types.ts';

export interface PlanParts {
  pool: Pool;
  archive: Archive;
  clickhouseUrl: string;
  /** WORK_DIR: index and row store of the head. */
  workDir: string;
}

export type VerifyPlan =
  | { kind: 'ready'; input: VerifyInput }
  | { kind: 'on_its_way'; edition: number }
  | { kind: 'no_edition' };

export const servingTables = { state: 'taxpayer', history: 'register_change', names: 'ranked_name' } as const;

/** What a verification of the register's head must read, as local files. Errors: ArchiveError where a change file is gone. */
export async function planVerification(parts: PlanParts, register: RegisterName): Promise<VerifyPlan> {
  const head = await readHead(parts.pool, register);
  if (head.edition === 0) return { kind: 'no_edition' };
  if (!head.materialised) return { kind: 'on_its_way', edition: head.edition };
  return { kind: 'ready', input: await inputAt(parts, register, head.edition) };
}

/** The same at the head, an edition that may not be materialised yet. */
export async function inputAt(parts: PlanParts, register: RegisterName, edition: number): Promise<VerifyInput> {
  const changeFiles = await changeFilesOf(parts, register, edition);
  const { publication, note } = await publicationOf(parts, register, edition);
  return {
    register,
    edition,
    clickhouseUrl: parts.clickhouseUrl,
    tables: servingTables,
    changeFiles,
    lastFull: lastFullOf(changeFiles),
    publication,
    publicationNote: note,
  };
}

/**
 * The publication under the head: its own, or after corrections the last edition's that had one. The overlay is the
 * head's own, which holds what corrections have undone as well.
 */
async function publicationOf(
  parts: PlanParts,
  register: RegisterName,
  head: number,
): Promise<{ publication: PublicationInput | null; note: string | null }> {
  const { pool, archive, workDir } = parts;
  const edition = (await findEdition(pool, register, head))!;
  const under = await publicationUnder(pool, register, head);
  if (under === null) return { publication: null, note: 'no edition has a publication' };
  const { parserVersion, columns } = registers[register];
  if (edition.parser_version !== parserVersion || edition.columns.join() !== columns.map(({ name }) => name).join()) {
    return {
      publication: null,
      note: 'the head was read by another parser: the next publication writes every row anew',
    };
  }
  try {
    const path = await archive.localFile({ register, kind: 'publications', sha256: under.sha256 });
    const { overlay_sha256: overlay } = edition;
    const overlayPath =
      overlay === null ? null : await archive.localFile({ register, kind: 'overlays', sha256: overlay });
    return { publication: { path, overlayPath, workDir }, note: null };
  } catch (error) {
    if (!(error instanceof ArchiveError) || error.code !== 'not_found') throw error;
    return { publication: null, note: 'the publication is no longer in the archive' };
  }
}

interface EditionFileRow {
  number: number;
  sha256: string;
  changes: number;
  baseline: number;
}

/** Every change file of a register up to an edition as local files, edition 1 first. Errors: ArchiveError. */
async function changeFilesOf(
  { pool, archive }: { pool: Pool; archive: Archive },
  register: RegisterName,
  last: number,
): Promise<EditionFile[]> {
  const { rows } = await pool.query<EditionFileRow>({
    name: 'replay-change-files',
    text: `SELECT number, change_file_sha256 AS sha256, changes, COALESCE((counts->>'baseline')::bigint, 0) AS baseline
      FROM edition WHERE register = $1 AND number <= $2 ORDER BY number`,
    values: [register, last],
  });
  const files: EditionFile[] = [];
  for (const { number, sha256, changes, baseline } of rows) {
    const path = await archive.localFile({ register, kind: 'changes', sha256 });
    files.push({ edition: number, path, sha256, changes, baseline });
  }
  return files;
}

/** The last edition that wrote every row: what was before it is not in the state. Edition 1 is always one. */
export function lastFullOf(files: readonly EditionFile[]): number {
  return files.findLast(({ baseline }) => baseline > 0)?.edition ?? 1;
}

/** An end of a stretch of history: an edition's number, or a date of the data (YYYY-MM-DD). Both ends are included. */
export type Bound = { edition: number } | { date: string };

export interface SelectedEdition {
  register: RegisterName;
  edition: number;
  /** Date of the data, YYYY-MM-DD. */
  fechaDato: string;
  /** Local file of its change file. */
  path: string;
  changes: number;
  /** Every notice of it is written. */
  notified: boolean;
}

interface EditionRow {
  number: number;
  fecha_dato: string;
  sha256: string;
  changes: number;
  notified: boolean;
}

/**
 * The editions between two bounds, oldest first, with their change files.
 * @throws ReplayError `edition_unknown` where there is none; ArchiveError where a change file is gone
 */
export async function selectEditions(
  { pool, archive }: { pool: Pool; archive: Archive },
  register: RegisterName,
  from: Bound,
  to: Bound,
): Promise<SelectedEdition[]> {
  const { rows } = await pool.query<EditionRow>({
    name: 'replay-selection',
    text: `SELECT number, fecha_dato, change_file_sha256 AS sha256, changes, avisada_at IS NOT NULL AS notified FROM edition
      WHERE register = $1 AND ($2::bigint IS NULL OR number >= $2) AND ($3::date IS NULL OR fecha_dato >= $3)
        AND ($4::bigint IS NULL OR number <= $4) AND ($5::date IS NULL OR fecha_dato <= $5)
      ORDER BY number`,
    values: [register, ...valuesOf(from), ...valuesOf(to)],
  });
  if (rows.length === 0) throw new ReplayError('edition_unknown', `${register} has no edition in this stretch`);
  const selected: SelectedEdition[] = [];
  for (const { number, fecha_dato, sha256, changes, notified } of rows) {
    const path = await archive.localFile({ register, kind: 'changes', sha256 });
    selected.push({ register, edition: number, fechaDato: fecha_dato, path, changes, notified });
  }
  return selected;
}

function valuesOf(bound: Bound): [number | null, string | null] {
  return 'edition' in bound ? [bound.edition, null] : [null, bound.date];
}
