import { isAscii, isUtf8 } from 'node:buffer';
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { crc32 } from 'node:zlib';
import type { RegisterName } from '../../schemas/registers.ts';
import { CompareError } from '../changes/errors.ts';
import type { Container } from '../registers/module.ts';
import { registerModules } from '../registers/modules.ts';
import { checkHeader } from './large/pages.ts';
import { chunkBytes, openZipEntry, type PublicationLimits, type PublishedText } from './zip.ts';

/**
 * Opens a publication's text. A zip is never unpacked to the disk, so a harmful path in an entry's name has no effect.
 * @throws CompareError `zip_invalid`, `zip_entry` or `zip_size` for a zip, and `zip_crc` while its text is read;
 *   `text_invalid` or `empty` for a plain text
 */
export async function openPublication(
  path: string,
  container: Container,
  limits: PublicationLimits,
): Promise<PublishedText> {
  return container.kind === 'zip' ? await openZipEntry(path, container, limits) : await openPlainText(path, limits);
}

const longestStartBytes = 64;

/**
 * Opens a publication that is plain text. Such a file declares no checksum, so it is read once to compute the checksum.
 * Reading it again must give the same checksum.
 */
async function openPlainText(path: string, limits: PublicationLimits): Promise<PublishedText> {
  const { size } = await stat(path);
  if (size === 0) throw new CompareError('empty', 'The publication is an empty file.');
  if (size > limits.maxTextBytes) {
    throw new CompareError('text_invalid', `The publication has ${size} bytes; the limit is ${limits.maxTextBytes}.`);
  }
  const read = () => createReadStream(path, { highWaterMark: chunkBytes }) as AsyncIterable<Buffer>;
  let sum = 0;
  let start = '';
  for await (const piece of read()) {
    start ||= piece.toString('latin1', 0, longestStartBytes);
    sum = crc32(piece, sum);
  }
  const problem = problemOfStart(start);
  if (problem !== null) throw new CompareError('text_invalid', `The publication is not the text itself: ${problem}.`);
  return { textBytes: size, crc32: sum, chunks: () => unchanged(read, sum) };
}

function problemOfStart(start: string): string | null {
  if (/^(\u00ef\u00bb\u00bf)?\s*</.test(start)) return 'it is a web page (HTML), the site answered with an error page';
  if (start.startsWith('PK')) return 'it is a zip';
  if (start.startsWith('%PDF')) return 'it is a PDF document';
  return null;
}

/**
 * Reads the file again and checks its checksum. The file is opened only when the first piece is asked for, because
 * nobody would handle an error of a stream that is not read.
 */
async function* unchanged(read: () => AsyncIterable<Buffer>, expected: number): AsyncGenerator<Buffer> {
  let sum = 0;
  for await (const piece of read()) {
    sum = crc32(piece, sum);
    yield piece;
  }
  if (sum !== expected) throw new CompareError('text_invalid', 'The publication changed while it was read.');
}

/**
 * Limits for the text of a small register. The largest real text has 4 MB and 51,000 lines. The rows of a text beyond
 * the limits would not fit into the heap, and each try would kill the comparing process.
 */
const maxSmallTextBytes = 16 * 2 ** 20;
const maxSmallLines = 200_000;
/** Number of bytes at the start of a small register's text that `checkPublication` parses. */
const headBytes = 64 * 1024;

/**
 * Reads the whole text of a small register. A text in UTF-8 is refused, because its accents would be read as other
 * letters.
 * @throws CompareError with the codes of `openPublication`; `text_invalid` also for UTF-8 or too many lines
 */
export async function readPublication(path: string, container: Container, limits: PublicationLimits): Promise<Buffer> {
  const maxTextBytes = Math.min(limits.maxTextBytes, maxSmallTextBytes);
  const opened = await openPublication(path, container, { ...limits, maxTextBytes });
  const pieces: Buffer[] = [];
  for await (const piece of opened.chunks()) pieces.push(piece);
  const text = Buffer.concat(pieces);
  if (!isAscii(text) && isUtf8(text)) throw invalid('it is written in UTF-8 instead of Windows-1252');
  if (countOfLineEnds(text) > maxSmallLines) throw invalid(`it has more than ${maxSmallLines} lines`);
  return text;
}

function invalid(what: string): CompareError {
  return new CompareError('text_invalid', `The text of the publication is not the register's: ${what}.`);
}

function countOfLineEnds(text: Buffer): number {
  let count = 0;
  for (const byte of text) if (byte === 0x0a || byte === 0x0d) count += 1;
  return count;
}

/**
 * Checks a publication's container and header before it is compared. A small register's text is read whole, but only
 * its first lines are parsed.
 * @throws CompareError with the codes of `openPublication` and `readPublication`; `header_changed`
 */
export async function checkPublication(register: RegisterName, path: string, limits: PublicationLimits): Promise<void> {
  const { source, format } = registerModules[register];
  if (format.size === 'small')
    format.read((await readPublication(path, source.container, limits)).subarray(0, headBytes));
  else await checkHeader((await openPublication(path, source.container, limits)).chunks(), format);
}
