import { createInterface } from 'node:readline';
import { z } from 'zod';
import type { Archive } from '../../pipelines/archive/archive.ts';
import type { RegisterName } from '../../schemas/registers.ts';
import { maskRuc } from '../../schemas/ruc.ts';

// The archived lists for operators: of a publication the lines that are no row, of a correction its conflicts.

/**
 * A line of a file of rejects or of conflicts. `raw`, the line as published, is only in rejects and may name a natural
 * person. The last line may instead be `omitted`, the number of entries that the file does not list.
 */
const listedLine = z.union([
  z.object({
    line: z.number().nullable().optional(),
    reason: z.string(),
    raw: z.string().optional(),
    ruc: z.string().optional(),
  }),
  z.object({ omitted: z.number() }),
]);

interface ListedLine {
  /** Line number in the publication's text, from 1. Null when the line has no number, as a conflict has none. */
  line: number | null;
  reason: string;
  /**
   * The RUC in the line. It is masked unless it belongs to a company. Null when the line has no number of eleven
   * digits.
   */
  ruc: string | null;
}

export interface Listed {
  lines: ListedLine[];
  /** Number of lines that are not in `lines`. The file lists them further on or only counts them. */
  omitted: number;
}

export const nothingListed: Listed = { lines: [], omitted: 0 };

/** Reads the first lines of an archived list of rejects or conflicts, without their personal data. */
export async function readListed(
  archive: Archive,
  register: RegisterName,
  sha256: string,
  maxLines: number,
): Promise<Listed> {
  const input = await archive.read({ register, kind: 'rejects', sha256 });
  const listed: Listed = { lines: [], omitted: 0 };
  for await (const text of createInterface({ input })) {
    const found = listedLine.parse(JSON.parse(text));
    if ('omitted' in found) listed.omitted += found.omitted;
    else if (listed.lines.length >= maxLines) listed.omitted += 1;
    else {
      const id = found.ruc ?? /(?<![0-9])[0-9]{11}(?![0-9])/.exec(found.raw ?? '')?.[0];
      listed.lines.push({
        line: found.line ?? null,
        reason: found.reason,
        ruc: id === undefined ? null : maskRuc(id),
      });
    }
  }
  return listed;
}
