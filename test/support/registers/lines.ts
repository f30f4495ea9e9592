import { entryName, writeZip } from '../../../deploy/local/demo/register/publication.ts';
import { encodeWindows1252 } from '../../../pipelines/registers/windows-1252.ts';

/** Writes these lines (text without line ends, or raw bytes) as a publication, for tests with small or broken files. */
export async function writeLines(path: string, lines: readonly (string | Uint8Array)[], lineEnd = '\n'): Promise<void> {
  await writeZip(path, [{ name: entryName, content: joinLines(lines, lineEnd) }], 6);
}

export function joinLines(lines: readonly (string | Uint8Array)[], lineEnd = '\n'): Uint8Array {
  const bytes = lines.map((line) => (typeof line === 'string' ? encodeWindows1252(line) : line));
  return Buffer.concat(bytes.flatMap((line) => [line, Buffer.from(lineEnd, 'latin1')]));
}
