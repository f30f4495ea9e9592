import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { pipeline, type Readable, type TransformOptions } from 'node:stream';
import { crc32, createInflateRaw, type ZlibOptions } from 'node:zlib';
import { type Entry, openPromise, type ZipFile } from 'yauzl';
import { CompareError } from '../changes/errors.ts';

export interface PublicationLimits {
  /** Largest text that a publication may declare or inflate to. */
  maxTextBytes: number;
  /** Most entries that a zip may have. */
  maxEntries: number;
}

/** A publication's text, still in its container. */
export interface PublishedText {
  textBytes: number;
  crc32: number;
  /** Gives pieces of at most `chunkBytes`. @throws CompareError when size or CRC differ from the declared ones */
  chunks(): AsyncGenerator<Buffer>;
}

/** Most bytes in a piece of text. With zlib's default of 16 KB, inflating takes three times as long. */
export const chunkBytes = 2 << 20;

const readBytes = 1 << 20;
const stored = 0;
const deflated = 8;

/** Opens a zip's only entry whose name matches `name`. @throws CompareError, also when no entry or several match */
export async function openZipEntry(path: string, name: RegExp, limits: PublicationLimits): Promise<PublishedText> {
  const zip = await openZip(path);
  try {
    const entry = await onlyEntry(zip, name, limits);
    const { fileDataStart } = await zip.readLocalFileHeaderPromise(entry, { minimal: true });
    if (fileDataStart + entry.compressedSize > zip.fileSize) throw truncated();
    return {
      textBytes: entry.uncompressedSize,
      crc32: entry.crc32,
      chunks: () => readEntry(path, entry, fileDataStart),
    };
  } catch (error) {
    if (error instanceof CompareError) throw error;
    throw new CompareError('zip_invalid', `The publication's zip directory cannot be read: ${messageOf(error)}.`);
  } finally {
    zip.close();
  }
}

async function openZip(path: string): Promise<ZipFile> {
  try {
    // With autoClose, the zip would close after its list of entries is read, before the entry's local header is read.
    return await openPromise(path, { autoClose: false, validateEntrySizes: true, strictFileNames: true });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== undefined) throw error;
    const start = await firstBytes(path);
    throw new CompareError('zip_invalid', `The publication cannot be opened. ${whatItIs(start)}`);
  }
}

function whatItIs(start: string): string {
  if (start === '') return 'It is an empty file.';
  if (/^\s*</.test(start)) return 'It is a web page (HTML), not a zip: the site answered with an error page.';
  if (start.startsWith('PK')) return 'It begins as a zip but its directory is missing: the download was cut off.';
  return 'It is not a zip.';
}

async function firstBytes(path: string): Promise<string> {
  const pieces: Buffer[] = [];
  for await (const piece of createReadStream(path, { end: 63 })) pieces.push(piece as Buffer);
  return Buffer.concat(pieces).toString('latin1');
}

async function onlyEntry(zip: ZipFile, name: RegExp, limits: PublicationLimits): Promise<Entry> {
  if (zip.entryCount > limits.maxEntries) {
    throw new CompareError('zip_entry', `The zip has ${zip.entryCount} entries, more than ${limits.maxEntries}.`);
  }
  const found: Entry[] = [];
  for await (const entry of zip.eachEntry()) if (name.test(entry.fileName)) found.push(entry);
  const [entry] = found;
  if (entry === undefined) throw new CompareError('zip_entry', `The zip has no entry named like ${name}.`);
  if (found.length > 1) {
    throw new CompareError('zip_entry', `The zip has ${found.length} entries named like ${name} instead of one.`);
  }
  if (/[/\\]/.test(entry.fileName)) throw new CompareError('zip_entry', 'The entry lies in a folder.');
  if (entry.isEncrypted()) throw new CompareError('zip_entry', 'The entry is encrypted.');
  if (entry.compressionMethod !== deflated && entry.compressionMethod !== stored) {
    throw new CompareError('zip_entry', `The entry uses compression method ${entry.compressionMethod}.`);
  }
  if (entry.uncompressedSize > limits.maxTextBytes) {
    throw new CompareError(
      'zip_size',
      `The text declares ${entry.uncompressedSize} bytes; the limit is ${limits.maxTextBytes}.`,
    );
  }
  return entry;
}

async function* readEntry(path: string, entry: Entry, start: number): AsyncGenerator<Buffer> {
  if (entry.compressedSize === 0) return;
  const file = createReadStream(path, { start, end: start + entry.compressedSize - 1, highWaterMark: readBytes });
  let text: Readable = file;
  if (entry.compressionMethod === deflated) {
    // `inflate` buffers only one piece, because it would join several buffered pieces into one by copying them. A
    // thread of libuv's pool inflates the next piece while the caller works on the current one. An error of `file` or
    // `inflate` destroys both streams and is thrown in the loop below. Leaving that loop early destroys both too.
    const options: ZlibOptions & TransformOptions = {
      chunkSize: chunkBytes,
      readableHighWaterMark: chunkBytes,
    };
    const inflate = createInflateRaw(options);
    text = pipeline(file, inflate, () => {});
  }
  let bytes = 0;
  let sum = 0;
  try {
    for await (const piece of text as AsyncIterable<Buffer>) {
      bytes += piece.length;
      if (bytes > entry.uncompressedSize) throw wrongSize('more than', entry);
      sum = crc32(piece, sum);
      // The stream may have joined several pieces into one, but callers get pieces of at most `chunkBytes`.
      for (let from = 0; from < piece.length; from += chunkBytes) yield piece.subarray(from, from + chunkBytes);
    }
  } catch (error) {
    const { code } = error as { code?: string };
    if (code === 'Z_BUF_ERROR') throw truncated();
    if (code === 'Z_DATA_ERROR')
      throw new CompareError('zip_crc', 'The compressed data of the publication is damaged.');
    throw error;
  }
  if (bytes < entry.uncompressedSize) throw wrongSize('less than', entry);
  if (sum !== entry.crc32) throw new CompareError('zip_crc', "The text does not match the zip's checksum (CRC-32).");
}

function wrongSize(relation: string, entry: Entry): CompareError {
  return new CompareError(
    'zip_size',
    `The text is ${relation} the ${entry.uncompressedSize} bytes that the zip declares.`,
  );
}

function truncated(): CompareError {
  return new CompareError('zip_invalid', 'The compressed data ends too early: the download was cut off.');
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : 'unknown reason';
}

const longestStartBytes = 64;

/**
 * Opens a publication that is plain text. Such a file declares no checksum, so it is read once to compute the checksum.
 * Reading it again must give the same checksum.
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
