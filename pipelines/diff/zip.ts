import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { pipeline, type Readable, type TransformOptions } from 'node:stream';
import { crc32, createInflateRaw, type ZlibOptions } from 'node:zlib';
import { type Entry, openPromise, type ZipFile } from 'yauzl';
import { CompareError } from '../changes/errors.ts';
import type { ZipContainer } from '../registers/module.ts';

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

/**
 * Opens the entry of a zip that holds the register's text. Other files beside it do no harm.
 * @throws CompareError `zip_invalid` or `zip_size`; `zip_entry` also when no entry or several entries may be the text
 */
export async function openZipEntry(
  path: string,
  container: ZipContainer,
  limits: PublicationLimits,
): Promise<PublishedText> {
  const zip = await openZip(path);
  try {
    const entry = await entryOfText(path, zip, container, limits);
    checkEntry(entry, limits);
    const start = await startOfData(zip, entry);
    return {
      textBytes: entry.uncompressedSize,
      crc32: entry.crc32,
      chunks: () => readEntry(path, entry, start),
    };
  } catch (error) {
    if (error instanceof CompareError || isOfDisk(error)) throw error;
    // The zip's directory gives positions that count from the zip's first byte, the P of `PK`. If the file has other
    // bytes before the zip, these positions are wrong.
    const isShifted = !(await firstBytes(path)).startsWith('PK');
    const why = isShifted ? 'other bytes stand before the zip begins' : messageOf(error);
    throw new CompareError('zip_invalid', `The publication's zip directory cannot be read: ${why}.`);
  } finally {
    zip.close();
  }
}

async function openZip(path: string): Promise<ZipFile> {
  try {
    // With autoClose, the zip would close after its list of entries is read, before the entry's local header is read.
    // With strictFileNames, a file in a Windows folder (`folder\\file`) beside the text would make the zip unreadable.
    return await openPromise(path, { autoClose: false, validateEntrySizes: true, strictFileNames: false });
  } catch (error) {
    if (isOfDisk(error)) throw error;
    const what = await whatItIs(path, messageOf(error));
    throw new CompareError('zip_invalid', `The publication cannot be opened. ${what}`);
  }
}

/** Whether an error comes from reading the file and not from what the file holds. */
function isOfDisk(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).syscall !== undefined;
}

/** Says what the file at `path` is. @param problem why the file cannot be opened as a zip */
async function whatItIs(path: string, problem: string): Promise<string> {
  const start = await firstBytes(path);
  if (start === '') return 'It is an empty file.';
  if (/^\s*</.test(start)) return 'It is a web page (HTML), not a zip: the site answered with an error page.';
  if (!start.startsWith('PK')) return 'It is not a zip.';
  const end = await endOfZip(path);
  const { size } = await stat(path);
  if (end === null || end > size) {
    return 'It begins as a zip but its directory is missing: the download was cut off.';
  }
  if (end === size) return `It is a zip whose directory cannot be read: ${problem}.`;
  return `It is a whole zip with ${size - end} bytes after its end, which unzip would skip with a warning.`;
}

async function firstBytes(path: string): Promise<string> {
  const pieces: Buffer[] = [];
  for await (const piece of createReadStream(path, { end: 63 })) pieces.push(piece as Buffer);
  return Buffer.concat(pieces).toString('latin1');
}

const endSignature = Buffer.from('PK\u0005\u0006', 'latin1');
const endRecordBytes = 22;
/** In large zips (zip64), a record of this many bytes stands before the end record. */
const locatorBytes = 20;
const locatorSignature = 0x07064b50;

/**
 * Returns the position at which the last zip in the file ends, or null when there is no end of a zip. It looks for the
 * record that closes a zip's directory (APPNOTE 4.3.16). The four bytes of its signature may also be in compressed
 * data. So a record only counts if the directory ends where the record begins, or if a zip64 locator stands before it.
 */
async function endOfZip(path: string): Promise<number | null> {
  let end: number | null = null;
  let from = 0;
  let bytes: Buffer = Buffer.alloc(0);
  for await (const piece of createReadStream(path, { highWaterMark: readBytes })) {
    // The end of the piece before stays, because a record may begin in one piece and end in the next.
    const kept = bytes.subarray(Math.max(0, bytes.length - endRecordBytes - locatorBytes));
    from += bytes.length - kept.length;
    bytes = Buffer.concat([kept, piece as Buffer]);
    for (let at = bytes.indexOf(endSignature); at >= 0; at = bytes.indexOf(endSignature, at + 1)) {
      if (at + endRecordBytes > bytes.length) break;
      const directoryEnd = bytes.readUInt32LE(at + 12) + bytes.readUInt32LE(at + 16);
      const isLarge = at >= locatorBytes && bytes.readUInt32LE(at - locatorBytes) === locatorSignature;
      if (directoryEnd === from + at || isLarge) end = from + at + endRecordBytes + bytes.readUInt16LE(at + 20);
    }
  }
  return end;
}

/** Names of entries in which the archiver of a Mac stores a file's attributes: `__MACOSX/…`, or `._` and the name. */
const macAttributes = /(^|\/)(__MACOSX\/|\._[^/]*$)/;
/** Number of bytes at the beginning of a text that `ZipContainer.start` is compared with. */
const longestStartBytes = 256;

/** @throws CompareError `zip_entry` when no entry or several entries may be the text */
async function entryOfText(
  path: string,
  zip: ZipFile,
  container: ZipContainer,
  limits: PublicationLimits,
): Promise<Entry> {
  if (zip.entryCount > limits.maxEntries) {
    throw new CompareError('zip_entry', `The zip has ${zip.entryCount} entries, more than ${limits.maxEntries}.`);
  }
  let found: Entry[] = [];
  for await (const entry of zip.eachEntry()) {
    if (container.entry.test(baseName(entry)) && !macAttributes.test(entry.fileName)) found.push(entry);
  }
  if (found.length === 0) throw new CompareError('zip_entry', `The zip has no entry named like ${container.entry}.`);
  const count = found.length;
  if (count > 1) {
    const isText = await Promise.all(found.map((entry) => mayBeText(path, zip, entry, container)));
    found = found.filter((_entry, index) => isText[index]);
  }
  if (found.length === 1) return found[0]!;
  const named = `The zip has ${count} entries named like ${container.entry} instead of one`;
  const why = found.length === 0 ? 'none of them is' : `${found.length} of them may be`;
  throw new CompareError('zip_entry', `${named}, and ${why} the register's text.`);
}

/** The name without its folders. It is empty for an entry that is a folder. */
function baseName({ fileName }: Entry): string {
  return fileName.slice(fileName.lastIndexOf('/') + 1);
}

/**
 * Whether one of several entries may be the register's text. A read-me file may have such a name too, but it does not
 * begin as the text does.
 */
async function mayBeText(path: string, zip: ZipFile, entry: Entry, { name, start }: ZipContainer): Promise<boolean> {
  if (name.test(baseName(entry))) return true;
  try {
    for await (const piece of readEntry(path, entry, await startOfData(zip, entry))) {
      return start.test(piece.toString('latin1', 0, longestStartBytes));
    }
    return false;
  } catch (error) {
    if (isOfDisk(error)) throw error;
    return false;
  }
}

function checkEntry(entry: Entry, limits: PublicationLimits): void {
  if (entry.fileName.includes('/')) throw new CompareError('zip_entry', 'The entry lies in a folder.');
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
}

async function startOfData(zip: ZipFile, entry: Entry): Promise<number> {
  return (await zip.readLocalFileHeaderPromise(entry, { minimal: true })).fileDataStart;
}

async function* readEntry(path: string, entry: Entry, start: number): AsyncGenerator<Buffer> {
  if (entry.compressedSize === 0) return;
  const file = createReadStream(path, { start, end: start + entry.compressedSize - 1, highWaterMark: readBytes });
  let text: Readable = file;
  if (entry.compressionMethod === deflated) {
    // With these sizes `inflate` holds only one finished piece: if it held several, the stream would copy them into
    // one. A thread of libuv's pool inflates the next piece while the caller works on the current piece. After an error
    // of either stream, `pipeline` destroys both, and the loop below throws the error. Leaving the loop early destroys
    // both too.
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
    if (code === 'Z_BUF_ERROR' || code === 'Z_DATA_ERROR')
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

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : 'unknown reason';
}
