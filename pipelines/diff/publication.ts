import { isAscii, isUtf8 } from 'node:buffer';
import type { RegisterName } from '../../schemas/registers.ts';
import { CompareError } from '../changes/errors.ts';
import type { Container } from '../registers/module.ts';
import { registerModules } from '../registers/modules.ts';
import { checkHeader } from './large/pages.ts';
import { openPlainText, openZipEntry, type PublicationLimits, type PublishedText } from './zip.ts';

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
  return container.kind === 'zip'
    ? await openZipEntry(path, container.entry, limits)
    : await openPlainText(path, limits);
}

/**
 * Limits for the text of a small register. The largest real text has 4 MB and 51,000 lines, so a text beyond the limits
 * is not the register's. Its rows would not fit into the heap of the comparing process, and each try would kill the
 * process.
 */
const maxSmallTextBytes = 16 * 2 ** 20;
const maxSmallLines = 200_000;
/** Number of bytes at the start of a small register's text that `checkPublication` parses. */
const headBytes = 64 * 1024;

/**
 * Reads the whole text of a small register. A text in UTF-8 is refused, because its accents would be read as other
 * letters.
 * @throws CompareError with the codes that `openPublication` names; `text_invalid` also when the text is UTF-8 or has
 *   too many lines
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
 * Checks a publication's container and header before it is compared. A small register's text is read whole, and its
 * first lines are parsed.
 * @throws CompareError with the codes of `openPublication` and `readPublication`; `header_changed`
 */
export async function checkPublication(register: RegisterName, path: string, limits: PublicationLimits): Promise<void> {
  const { source, format } = registerModules[register];
  if (format.size === 'small')
    format.read((await readPublication(path, source.container, limits)).subarray(0, headBytes));
  else await checkHeader((await openPublication(path, source.container, limits)).chunks(), format);
}
