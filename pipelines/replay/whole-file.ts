import { rename, rm } from 'node:fs/promises';

/**
 * Writes a file under a name of its own and gives it its name when it is whole: `write` leaves it on the disk. Dying leaves
 * `<path>.partial`, which the next run replaces.
 */
export async function writeWhole<Result>(path: string, write: (partial: string) => Promise<Result>): Promise<Result> {
  const partial = `${path}.partial`;
  try {
    const result = await write(partial);
    await rename(partial, path);
    return result;
  } catch (error) {
    await rm(partial, { force: true });
    throw error;
  }
}
