import { isAscii, isUtf8 } from 'node:buffer';
import type { RegisterName } from '../../schemas/registers.ts';
import { CompareError } from '../changes/errors.ts';
import type { Container } from '../registers/module.ts';
import { registerModules } from '../registers/modules.ts';
import { checkHeader } from './large/pages.ts';
import { openPlainText, openZipEntry, type PublicationLimits, type PublishedText } from './zip.ts';

/**
 * Opens a publication's text. Nothing is written to disk, whatever a zip's entries are called.
 * @throws CompareError `zip_invalid`, `zip_entry`, `zip_size`, `zip_crc`, `text_invalid`, `empty`
 */
export async function openPublication(
  path: string,
  container: Container,
  limits: PublicationLimits,
): Promise<PublishedText> {
  return container.kind === 'zip'
    ? await openZipEntry(path, container.entry, limits)
    : await openPlainText(path, limits);
}

/**
 * The largest text of a small register has 4 MB and 51,000 lines. One that is far larger is another file, and what is made of
 * its lines would not fit in the heap of the process that compares: it would die, be tried again, and die again.
 */
const maxSmallTextBytes = 16 * 2 ** 20;
const maxSmallLines = 200_000;
/** A header and some rows. */
const headBytes = 64 * 1024;

/**
 * All of a small register's text.
 * @throws CompareError as `openPublication`, also when size or CRC are not as declared; `text_invalid` for one that is in UTF-8
 *   (its cells would be read as other letters) or has too many lines
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
 * Opens a publication and reads its header: what can be said of it before it is compared. Of a small register all bytes are
 * read and the first lines understood. Errors: as `openPublication` and `readPublication`, and `header_changed`.
 */
export async function checkPublication(register: RegisterName, path: string, limits: PublicationLimits): Promise<void> {
  const { source, format } = registerModules[register];
  if (format.size === 'small')
    format.read((await readPublication(path, source.container, limits)).subarray(0, headBytes));
  else await checkHeader((await openPublication(path, source.container, limits)).chunks(), format);
}
