import { createInterface } from 'node:readline';
import { z } from 'zod';
import type { Archive } from '../../pipelines/archive/archive.ts';
import { openArchive } from '../../pipelines/archive/open.ts';
import { archiveBlock } from '../../pipelines/runtime/config.ts';
import type { RegisterName } from '../../schemas/registers.ts';
import { maskRuc } from '../../schemas/ruc.ts';
import type { CommandContext } from './context.ts';

/** A line of a reject or conflict file. `raw` is the published line, which may be a person's; `ruc` stands in conflicts. */
const listedLine = z.union([
  z.object({
    line: z.number().nullable().optional(),
    reason: z.string(),
    raw: z.string().optional(),
    ruc: z.string().optional(),
  }),
  z.object({ omitted: z.number() }),
]);

export interface ListedLine {
  /** Of the publication's text, from 1; null where it has none. */
  line: number | null;
  reason: string;
  /** A company's as it is, everything else masked; null where the line holds no eleven digits. */
  ruc: string | null;
}

export interface Listed {
  lines: ListedLine[];
  /** Further ones, in the file or only counted. */
  omitted: number;
}

export async function openConfiguredArchive(context: CommandContext): Promise<Archive> {
  const { ARCHIVE_URL, WORK_DIR } = context.configuration(archiveBlock);
  return await openArchive(ARCHIVE_URL, WORK_DIR);
}

/** The first lines of a file that a comparison left, without what they hold of anybody. */
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
    else listed.lines.push({ line: found.line ?? null, reason: found.reason, ruc: maskedId(found) });
  }
  return listed;
}

function maskedId({ ruc, raw = '' }: { ruc?: string | undefined; raw?: string | undefined }): string | null {
  const id = ruc ?? /(?<![0-9])[0-9]{11}(?![0-9])/.exec(raw)?.[0];
  return id === undefined ? null : maskRuc(id);
}

export function listedText({ line, reason, ruc }: ListedLine): string {
  return [`  ${line === null ? '' : `line ${line}`}`.padEnd(16), reason.padEnd(18), ruc ?? ''].join('  ').trimEnd();
}
