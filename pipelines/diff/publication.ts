import type { RegisterName } from '../../schemas/registers.ts';
import type { Container } from '../registers/module.ts';
import { registerModules } from '../registers/modules.ts';
import { checkHeader } from './pages.ts';
import { openPlainText } from './plain-text.ts';
import type { PublicationLimits, PublishedText } from './published-text.ts';
import { openZipEntry } from './zip.ts';

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

/** The largest text of a small register has 4 MB; one that is far larger is another file, and would not fit in memory. */
const maxSmallTextBytes = 256 * 2 ** 20;

/** All of a small register's text. Errors: as `openPublication`, and when size or CRC are not as declared. */
export async function readPublication(path: string, container: Container, limits: PublicationLimits): Promise<Buffer> {
  const maxTextBytes = Math.min(limits.maxTextBytes, maxSmallTextBytes);
  const text = await openPublication(path, container, { ...limits, maxTextBytes });
  const pieces: Buffer[] = [];
  for await (const piece of text.chunks()) pieces.push(piece);
  return Buffer.concat(pieces);
}

/**
 * Opens a publication and reads its header: what can be said of it before it is compared. A small register's text is
 * read whole. Errors: as `openPublication`, and `header_changed`.
 */
export async function checkPublication(register: RegisterName, path: string, limits: PublicationLimits): Promise<void> {
  const { source, format } = registerModules[register];
  if (format.size === 'small') format.read(await readPublication(path, source.container, limits));
  else await checkHeader((await openPublication(path, source.container, limits)).chunks(), format);
}
