import { randomUUID } from 'node:crypto';
import { readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { RegisterName } from '../../schemas/registers.ts';
import { AttemptFile } from '../runtime/durable-files.ts';

/** A temporary file that was not changed for this long is removed, because the process that wrote it must have died. */
export const maxAttemptAgeMs = 24 * 3_600_000;

/**
 * Returns the final name of a working file in WORK_DIR. A rebuild can make every working file again. Each attempt at a
 * comparison, correction or rebuild writes under its own temporary name. A file gets its final name only when its bytes
 * are on the disk, so a file with a final name is whole.
 */
export function workFileName(
  register: RegisterName,
  changeFileSha256: string,
  kind: 'index' | 'rows' | 'lines',
): string {
  return `${register}.${changeFileSha256}.${kind}`;
}

/** Returns a new temporary name for a file that one attempt writes. */
export function attemptName(register: RegisterName, kind: string): string {
  return `${register}.attempt-${randomUUID()}.${kind}`;
}

/** Returns the final name of an edition's change file, overlay or listing. */
export function editionFileName(
  { register, edition }: { register: RegisterName; edition: number },
  kind: string,
  sha256: string,
  end: 'avro' | 'ndjson',
): string {
  return `${register}.${edition}.${kind}.${sha256}.${end}`;
}

/** Writes the pieces as one file: whole, durable and under its name, or not at all. Returns its size in bytes. */
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
 * Removes two kinds of this register's files:
 * - Attempt files that are older than `maxAttemptAgeMs`. The processes that wrote them must have died.
 * - Finished working files that are not in `keep`. When `keep` is null, all finished files stay.
 */
export function sweepWorkFiles(folder: string, register: RegisterName, keep: ReadonlySet<string> | null): void {
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
