import type { RegisterName } from '../../schemas/registers.ts';
import type { Archive } from '../archive/archive.ts';
import type { Pool } from '../runtime/postgres.ts';
import type { EditionFile } from './types.ts';

interface Row {
  number: number;
  sha256: string;
  changes: number;
  baseline: number;
}

/** Every change file of a register up to an edition as local files, edition 1 first. Errors: ArchiveError. */
export async function changeFilesOf(
  { pool, archive }: { pool: Pool; archive: Archive },
  register: RegisterName,
  last: number,
): Promise<EditionFile[]> {
  const { rows } = await pool.query<Row>({
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
