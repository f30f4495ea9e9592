import { readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { RegisterName } from '../../schemas/registers.ts';
import { AttemptFile } from '../runtime/durable-files.ts';

/**
 * The working files of WORK_DIR, `<register>.<hash of the change file>.index` and `.rows`, can be rebuilt. Each attempt
 * writes under a name of its own. The final name appears only when the bytes are on the disk, so such a file is whole.
 */
export type WorkFileKind = 'index' | 'rows';

export function workFileName(register: RegisterName, changeFileSha256: string, kind: WorkFileKind): string {
  return `${register}.${changeFileSha256}.${kind}`;
}

export function attemptName(register: RegisterName, attempt: string, kind: string): string {
  return `${register}.attempt-${attempt}.${kind}`;
}

/** Writes these pieces as one file: whole, durable and under its name, or not at all. Returns the file's bytes. */
export function writeWhole(
  folder: string,
  attempt: string,
  name: string,
  pieces: Iterable<string | Uint8Array>,
): number {
  const file = new AttemptFile(folder, attempt);
  try {
    for (const piece of pieces) file.append(typeof piece === 'string' ? Buffer.from(piece, 'utf8') : piece);
    file.finish(name);
  } finally {
    file.discard();
  }
  return file.bytes;
}

/**
 * Removes files that dead attempts left, once they are older than `maxAttemptAgeMs`, and this register's finished
 * working files that are not in `keep`. With null, no finished file is removed.
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
