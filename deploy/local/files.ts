import { randomUUID } from 'node:crypto';
import { closeSync, fsyncSync, openSync, readFileSync, renameSync, writeSync } from 'node:fs';
import type { ZodType } from 'zod';

/** Writes a JSON file whole or not at all: a reader, or a start after a crash, never sees half of it. */
export function writeJsonFile(file: string, value: unknown, mode = 0o644): void {
  const temporary = `${file}.${randomUUID()}.partial`;
  const descriptor = openSync(temporary, 'wx', mode);
  writeSync(descriptor, `${JSON.stringify(value, null, 2)}\n`);
  fsyncSync(descriptor);
  closeSync(descriptor);
  renameSync(temporary, file); // dying before this line leaves the old file and a .partial that nobody reads
}

/** The file's value, or undefined when it is missing or does not have the expected shape. */
export function readJsonFile<T>(file: string, schema: ZodType<T>): T | undefined {
  try {
    return schema.parse(JSON.parse(readFileSync(file, 'utf8')));
  } catch {
    return undefined;
  }
}
