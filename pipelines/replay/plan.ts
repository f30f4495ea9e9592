import { type RegisterName, registers } from '../../schemas/registers.ts';
import { type Archive, ArchiveError } from '../archive/archive.ts';
import { findEdition, publicationUnder } from '../editions/editions.ts';
import { readHead } from '../editions/heads.ts';
import type { Pool } from '../runtime/postgres.ts';
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
