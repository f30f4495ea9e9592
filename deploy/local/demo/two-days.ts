import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { taxpayerOn } from './register/population.ts';
import { type Publication, writePublication } from './register/publication.ts';

export interface WrittenDay extends Publication {
  lastModified: Date;
}

export interface TwoDays {
  first: WrittenDay;
  second: WrittenDay;
  /** A company that is the same on both days. */
  unchangedCompany: string;
}

const seed = 20261126;
const hourMs = 3_600_000;

/** Yesterday's and today's publication of an invented register, in the official format. */
export async function writeTwoDays(
  directory: string,
  rows: number,
  changes = { inserted: 60, deleted: 40, updated: 90 },
): Promise<TwoDays> {
  mkdirSync(directory, { recursive: true });
  const write = async (day: number, ageHours: number): Promise<WrittenDay> => {
    const file = path.join(directory, `padron_reducido_ruc.day${day}.zip`);
    const lastModified = new Date(Math.floor((Date.now() - ageHours * hourMs) / 1000) * 1000);
    return { ...(await writePublication({ path: file, rows, seed, day, changes })), lastModified };
  };
  const [first, second] = [await write(1, 30), await write(2, 6)];
  return { first, second, unchangedCompany: findUnchangedCompany(rows, second) };
}

function findUnchangedCompany(rows: number, second: WrittenDay): string {
  const changed = new Set(second.changes.map(({ ruc }) => ruc));
  for (let index = 0; index < rows; index += 1) {
    const { ruc } = taxpayerOn({ rows, seed, inserted: 60, deleted: 40, updated: 90 }, index, 1);
    if (ruc.startsWith('20') && !changed.has(ruc)) return ruc;
  }
  throw new RangeError('the invented register holds no company that stays as it is');
}
