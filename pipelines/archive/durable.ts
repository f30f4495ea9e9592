import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';

/** Chunks of this size keep hashing near the disk's speed. */
const readChunkBytes = 1024 * 1024;

export async function sha256OfFile(file: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(file, { highWaterMark: readChunkBytes }), hash);
  return hash.digest('hex');
}

/** The file's bytes are on the disk when this resolves. */
export async function syncFile(file: string): Promise<void> {
  const handle = await open(file, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** The folder's entries (new names, renames) are on the disk when this resolves. */
export async function syncFolder(folder: string): Promise<void> {
  await syncFile(folder);
}
