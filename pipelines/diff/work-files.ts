import { closeSync, fsyncSync, openSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { RegisterName } from '../../schemas/registers.ts';
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

/** Makes a finished file durable and gives it its name. Dying before the rename leaves an attempt's file to sweep. */
export function publishFile(folder: string, from: string, to: string, file: number): void {
  fsyncSync(file);
  closeSync(file);
  renameSync(join(folder, from), join(folder, to));
  syncFolder(folder);
}

/**
 * Writes these pieces as one file: whole, durable and under its name, or not at all. A full disk that is tried again and
 * again must not be filled by what each try leaves. Returns the file's bytes.
 */
export function writeWhole(
  folder: string,
  attempt: string,
  name: string,
  pieces: Iterable<string | Uint8Array>,
): number {
  const path = join(folder, attempt);
  const file = openSync(path, 'w');
  let bytes = 0;
  try {
    try {
      for (const piece of pieces) {
        const data = typeof piece === 'string' ? Buffer.from(piece, 'utf8') : piece;
        writeFully(file, data, 0, data.length, bytes);
        bytes += data.length;
      }
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    renameSync(path, join(folder, name));
  } catch (error) {
    rmSync(path, { force: true });
    throw error;
  }
  syncFolder(folder);
  return bytes;
}

/** A rename is durable only when its folder is. */
export function syncFolder(folder: string): void {
  const file = openSync(folder, 'r');
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
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
