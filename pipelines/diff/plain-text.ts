import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { crc32 } from 'node:zlib';
import { CompareError } from './errors.ts';
import { chunkBytes, type PublicationLimits, type PublishedText } from './published-text.ts';

const longestStartBytes = 64;

/**
 * Opens a publication that is the text itself. It says nothing of its own length or checksum, so all is read once to take
 * both; reading it again must give the same.
 */
export async function openPlainText(path: string, limits: PublicationLimits): Promise<PublishedText> {
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

/** Opens the file only when the first piece is asked for: a stream that nobody reads has nobody to tell its error to. */
async function* unchanged(read: () => AsyncIterable<Buffer>, expected: number): AsyncGenerator<Buffer> {
  let sum = 0;
  for await (const piece of read()) {
    sum = crc32(piece, sum);
    yield piece;
  }
  if (sum !== expected) throw new CompareError('text_invalid', 'The publication changed while it was read.');
}
