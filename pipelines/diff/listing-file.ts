import { join } from 'node:path';
import { writeWhole } from './work-files.ts';

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
  const bytes = writeWhole(folder, attempt, name, textsOf(entries, omitted));
  return { path: join(folder, name), bytes };
}

function* textsOf(entries: readonly object[], omitted: number): Generator<string> {
  for (let from = 0; from < entries.length; from += entriesPerWrite) {
    const lines = entries.slice(from, from + entriesPerWrite).map((entry) => `${toJson(entry)}\n`);
    yield lines.join('');
  }
  if (omitted > 0) yield `${JSON.stringify({ omitted })}\n`;
}

/** Texts hold bytes as the characters of that number; those that could steer a terminal are escaped, so nothing is lost. */
function toJson(entry: object): string {
  return JSON.stringify(entry).replace(
    /[\u007f-\u009f]/g,
    (character) => `\\u00${character.charCodeAt(0).toString(16).padStart(2, '0')}`,
  );
}
