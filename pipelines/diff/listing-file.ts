import { closeSync, fsyncSync, openSync, renameSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { syncFolder } from './work-files.ts';

export interface Listing {
  path: string;
  bytes: number;
}

const entriesPerWrite = 1000;

/**
 * Writes what an operator may want to read of an edition, one JSON object per line, and how many more there were. The file
 * has its name only when it is whole. Null when there is nothing to list.
 */
export function writeListing(
  folder: string,
  attempt: string,
  name: string,
  entries: readonly object[],
  omitted: number,
): Listing | null {
  if (entries.length + omitted === 0) return null;
  const file = openSync(join(folder, attempt), 'w');
  let bytes = 0;
  try {
    for (let from = 0; from < entries.length; from += entriesPerWrite) {
      const lines = entries.slice(from, from + entriesPerWrite).map((entry) => `${toJson(entry)}\n`);
      bytes += writeSync(file, lines.join(''));
    }
    if (omitted > 0) bytes += writeSync(file, `${JSON.stringify({ omitted })}\n`);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  renameSync(join(folder, attempt), join(folder, name));
  syncFolder(folder);
  return { path: join(folder, name), bytes };
}

/** Texts hold bytes as the characters of that number; those that could steer a terminal are escaped, so nothing is lost. */
function toJson(entry: object): string {
  return JSON.stringify(entry).replace(
    /[\u007f-\u009f]/g,
    (character) => `\\u00${character.charCodeAt(0).toString(16).padStart(2, '0')}`,
  );
}
