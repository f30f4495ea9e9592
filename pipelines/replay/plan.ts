import type { Pool } from '../../deploy/runtime/postgres.ts';
import { type RegisterName, registers } from '../../schemas/registers.ts';
import { type Archive, ArchiveError } from '../archive/archive.ts';
import { readHead } from '../editions/heads.ts';
import { changeFilesOf, lastFullOf } from './edition-files.ts';
import type { PublicationInput, VerifyInput } from './types.ts';

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

export const servingTables = { state: 'taxpayer', history: 'register_change' } as const;

/** What a verification of the register's head must read, as local files. Errors: ArchiveError where a change file is gone. */
export async function planVerification(parts: PlanParts, register: RegisterName): Promise<VerifyPlan> {
  const head = await readHead(parts.pool, register);
  if (head.edition === 0) return { kind: 'no_edition' };
  if (!head.materialised) return { kind: 'on_its_way', edition: head.edition };
  const changeFiles = await changeFilesOf(parts, register, head.edition);
  const { publication, note } = await publicationOf(parts, register);
  const input: VerifyInput = {
    register,
    edition: head.edition,
    clickhouseUrl: parts.clickhouseUrl,
    tables: servingTables,
    changeFiles,
    lastFull: lastFullOf(changeFiles),
    publication,
    publicationNote: note,
  };
  return { kind: 'ready', input };
}

interface HeadPublication {
  sha256: string;
  overlay_sha256: string | null;
  parser_version: number;
  columns: string[];
}

/**
 * The publication under the head: its own, or after corrections the last edition's that had one. The overlay is the
 * head's own, which holds what corrections have undone as well.
 */
async function publicationOf(
  parts: PlanParts,
  register: RegisterName,
): Promise<{ publication: PublicationInput | null; note: string | null }> {
  const { rows } = await parts.pool.query<HeadPublication>({
    name: 'replay-head-publication',
    text: `SELECT publication.sha256, edition.overlay_sha256, edition.parser_version, edition.columns
      FROM register_head head
      JOIN edition ON edition.register = head.register AND edition.number = head.edition
      JOIN LATERAL (SELECT publication_id FROM edition based
        WHERE based.register = head.register AND based.publication_id IS NOT NULL
        ORDER BY number DESC LIMIT 1) last ON true
      JOIN publication ON publication.id = last.publication_id
      WHERE head.register = $1`,
    values: [register],
  });
  const row = rows[0];
  if (row === undefined) return { publication: null, note: 'no edition has a publication' };
  const { parserVersion, columns } = registers[register];
  if (row.parser_version !== parserVersion || row.columns.join() !== columns.map(({ name }) => name).join()) {
    return {
      publication: null,
      note: 'the head was read by another parser: the next publication writes every row anew',
    };
  }
  try {
    const { archive, workDir } = parts;
    const path = await archive.localFile({ register, kind: 'publications', sha256: row.sha256 });
    const overlayPath =
      row.overlay_sha256 === null
        ? null
        : await archive.localFile({ register, kind: 'overlays', sha256: row.overlay_sha256 });
    return { publication: { path, overlayPath, workDir }, note: null };
  } catch (error) {
    if (!(error instanceof ArchiveError) || error.code !== 'not_found') throw error;
    return { publication: null, note: 'the publication is no longer in the archive' };
  }
}
