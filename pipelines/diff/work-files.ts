import { closeSync, openSync, readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { RegisterName } from '../../schemas/registers.ts';
import { moveIntoPlaceSync, writeWholeFileSync } from '../runtime/durable-files.ts';
import { writeFully } from './large/spill.ts';

/**
 * Files that can be rebuilt, in WORK_DIR: `<register>.<hash of the change file>.index` and `.rows`. An attempt writes
 * under a name of its own; the final name appears only when the bytes are on disk, so whatever has a final name is whole.
 */
export type WorkFileKind = 'index' | 'rows';

export function workFileName(register: RegisterName, changeFileSha256: string, kind: WorkFileKind): string {
  return `${register}.${changeFileSha256}.${kind}`;
}

export function attemptName(register: RegisterName, attempt: string, kind: string): string {
  return `${register}.attempt-${attempt}.${kind}`;
}

/** Closes a finished file, makes it durable and gives it its name. A death before the rename leaves a file to sweep. */
export function finishFile(folder: string, from: string, to: string, file: number): void {
  closeSync(file);
  moveIntoPlaceSync(join(folder, from), join(folder, to));
}

/** Writes these pieces as one file: whole, durable and under its name, or not at all. Returns the file's bytes. */
export function writeWhole(
  folder: string,
  attempt: string,
  name: string,
  pieces: Iterable<string | Uint8Array>,
): number {
  return writeWholeFileSync(join(folder, name), join(folder, attempt), (temporary) => {
    const file = openSync(temporary, 'w');
    let bytes = 0;
    try {
      for (const piece of pieces) {
        const data = typeof piece === 'string' ? Buffer.from(piece, 'utf8') : piece;
        writeFully(file, data, 0, data.length, bytes);
        bytes += data.length;
      }
    } finally {
      closeSync(file);
    }
    return bytes;
  });
}

/**
 * Removes what dead attempts left, once it is older than `maxAttemptAgeMs`, and this register's finished working files
 * that are not in `keep` (null: no finished file is touched).
 */
export function sweepWorkFiles(
  folder: string,
  register: RegisterName,
  keep: ReadonlySet<string> | null,
  maxAttemptAgeMs: number,
): void {
  const finished = new RegExp(`^${register}\\.[0-9a-f]{64}\\.(index|rows)$`);
  const attempt = new RegExp(`^${register}\\.attempt-`);
  for (const name of readdirSync(folder)) {
    const path = join(folder, name);
    if (keep !== null && finished.test(name) && !keep.has(name)) rmSync(path, { force: true });
    else if (attempt.test(name) && Date.now() - modifiedAt(path) > maxAttemptAgeMs) rmSync(path, { force: true });
  }
}

function modifiedAt(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Date.now();
}
