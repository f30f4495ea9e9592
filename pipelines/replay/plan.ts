import { type RegisterName, registers } from '../../schemas/registers.ts';
import { type Archive, ArchiveError } from '../archive/archive.ts';
import { servingTables } from '../consumers/materialize.ts';
import { findEdition, publicationUnder } from '../editions/editions.ts';
import { readHead } from '../editions/heads.ts';
import type { ClickhouseTarget } from '../runtime/clickhouse.ts';
import type { Pool } from '../runtime/postgres.ts';
import { type EditionFile, ReplayError, type VerifyInput } from './types.ts';

export interface PlanDependencies {
  pool: Pool;
  archive: Archive;
  clickhouseTarget: ClickhouseTarget;
  /** The folder WORK_DIR, in which pipelines/diff keeps the head's index and row store. */
  workDir: string;
}

export type VerifyPlan =
  | { kind: 'ready'; input: VerifyInput }
  /** An edition is being written, so ClickHouse is between two states. Verify again later. */
  | { kind: 'on_its_way'; edition: number }
  | { kind: 'no_edition' };

/**
 * Collects everything that a verification of the head reads, and copies files of the archive to the local disk.
 * @throws ArchiveError when a change file is missing
 */
export async function planVerification(dependencies: PlanDependencies, register: RegisterName): Promise<VerifyPlan> {
  const head = await readHead(dependencies.pool, register);
  if (head.edition === 0) return { kind: 'no_edition' };
  if (!head.materialised) return { kind: 'on_its_way', edition: head.edition };
  return { kind: 'ready', input: await inputAt(dependencies, register, head.edition) };
}

/** Makes the input for verifying the head, whose number is `edition`. Its rows need not all be in ClickHouse yet. */
export async function inputAt(
  dependencies: PlanDependencies,
  register: RegisterName,
  edition: number,
): Promise<VerifyInput> {
  const changeFiles = await changeFilesOf(dependencies, register, edition);
  return {
    register,
    edition,
    clickhouseTarget: dependencies.clickhouseTarget,
    tables: servingTables,
    changeFiles,
    lastFull: lastFullOf(changeFiles),
    ...(await publicationOf(dependencies, register, edition)),
  };
}

/**
 * Finds the publication that the head is based on. For a correction, which has no publication, this is that of the last
 * earlier edition that has one. The overlay (the rows in which the head differs from this publication on purpose) is
 * the head's own, so it has the rows that corrections restored.
 */
async function publicationOf(
  dependencies: PlanDependencies,
  register: RegisterName,
  head: number,
): Promise<Pick<VerifyInput, 'publication' | 'publicationNote'>> {
  const { pool, archive, workDir } = dependencies;
  const edition = (await findEdition(pool, register, head))!;
  const under = await publicationUnder(pool, register, head);
  if (under === null) return { publication: null, publicationNote: 'no edition has a publication' };
  const { parserVersion, columns } = registers[register];
  if (edition.parser_version !== parserVersion || edition.columns.join() !== columns.map(({ name }) => name).join()) {
    return {
      publication: null,
      publicationNote: 'the head was read by another parser: the next publication writes every row again',
    };
  }
  try {
    const path = await archive.localFile({ register, kind: 'publications', sha256: under.sha256 });
    const { overlay_sha256: overlay } = edition;
    const overlayPath =
      overlay === null ? null : await archive.localFile({ register, kind: 'overlays', sha256: overlay });
    return { publication: { path, overlayPath, workDir }, publicationNote: null };
  } catch (error) {
    if (!(error instanceof ArchiveError) || error.code !== 'not_found') throw error;
    return { publication: null, publicationNote: 'the publication is no longer in the archive' };
  }
}

/** Returns a register's change files as local files, from edition 1 to edition `last`. @throws ArchiveError */
async function changeFilesOf(
  { pool, archive }: { pool: Pool; archive: Archive },
  register: RegisterName,
  last: number,
): Promise<EditionFile[]> {
  const { rows } = await pool.query<Omit<EditionFile, 'path'>>({
    name: 'replay-change-files',
    text: `SELECT number AS edition, change_file_sha256 AS sha256, changes,
             COALESCE((counts->>'baseline')::bigint, 0) AS baseline
      FROM edition WHERE register = $1 AND number <= $2 ORDER BY number`,
    values: [register, last],
  });
  const files: EditionFile[] = [];
  for (const row of rows) {
    const path = await archive.localFile({ register, kind: 'changes', sha256: row.sha256 });
    files.push({ ...row, path });
  }
  return files;
}

/** Returns the last edition that wrote every row; edition 1 always did. The state has no rows of earlier editions. */
export function lastFullOf(files: readonly EditionFile[]): number {
  return files.findLast(({ baseline }) => baseline > 0)?.edition ?? 1;
}

/** One end of a range of editions: a number, or a date of the data (YYYY-MM-DD). The range includes both ends. */
export type Bound = { edition: number } | { date: string };

export interface SelectedEdition {
  register: RegisterName;
  edition: number;
  /** Date of the data, YYYY-MM-DD. */
  fechaDato: string;
  /** Local path of the edition's change file. */
  path: string;
  changes: number;
  /** Whether all events of the edition are written. */
  notified: boolean;
}

/**
 * Returns the editions between two bounds, oldest first, with local copies of their change files.
 * @throws ReplayError `edition_unknown` when the range has no edition
 * @throws ArchiveError when a change file is missing
 */
export async function selectEditions(
  { pool, archive }: { pool: Pool; archive: Archive },
  register: RegisterName,
  from: Bound,
  to: Bound,
): Promise<SelectedEdition[]> {
  const { rows } = await pool.query<Omit<SelectedEdition, 'path'> & { sha256: string }>({
    name: 'replay-selection',
    text: `SELECT register, number AS edition, fecha_dato AS "fechaDato", change_file_sha256 AS sha256, changes,
        avisada_at IS NOT NULL AS notified
      FROM edition
      WHERE register = $1 AND ($2::bigint IS NULL OR number >= $2) AND ($3::date IS NULL OR fecha_dato >= $3)
        AND ($4::bigint IS NULL OR number <= $4) AND ($5::date IS NULL OR fecha_dato <= $5)
      ORDER BY number`,
    values: [register, ...valuesOf(from), ...valuesOf(to)],
  });
  if (rows.length === 0) throw new ReplayError('edition_unknown', `${register} has no edition in this range`);
  const selected: SelectedEdition[] = [];
  for (const { sha256, ...edition } of rows) {
    selected.push({ ...edition, path: await archive.localFile({ register, kind: 'changes', sha256 }) });
  }
  return selected;
}

function valuesOf(bound: Bound): [number | null, string | null] {
  return 'edition' in bound ? [bound.edition, null] : [null, bound.date];
}
