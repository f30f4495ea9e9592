import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { type Population, populationOf, type TrueChange, taxpayerOn, trueChanges } from './register/population.ts';
import { type Publication, writePublication } from './register/publication.ts';
import { chooseWatched, type Watched } from './watched.ts';

export interface WrittenDay extends Publication {
  lastModified: Date;
}

export interface TwoDays {
  first: WrittenDay;
  second: WrittenDay;
  /** One company for each kind of change of day 2, and one that stays as it is. */
  watched: Watched[];
}

const firstSeed = 20_261_126;
const maxSeeds = 1_000;
const hourMs = 3_600_000;

/** Fewer than a hundred new and changed rows: the share gates let a small register pass. */
const fewChanges = { inserted: 30, deleted: 30, updated: 65 };

/** Yesterday's and today's publication of an invented register, in the official format. */
export async function writeTwoDays(directory: string, rows: number, changes = fewChanges): Promise<TwoDays> {
  mkdirSync(directory, { recursive: true });
  const { seed, watched } = inventRegister(rows, changes);
  const write = async (day: number, ageHours: number): Promise<WrittenDay> => {
    const file = path.join(directory, `padron_reducido_ruc.day${day}.zip`);
    const lastModified = new Date(Math.floor((Date.now() - ageHours * hourMs) / 1000) * 1000);
    return { ...(await writePublication({ path: file, rows, seed, day, changes })), lastModified };
  };
  return { first: await write(1, 30), second: await write(2, 6), watched };
}

/** The first invented register in which companies meet every kind of change that is watched. */
function inventRegister(rows: number, changes: Partial<Population>): { seed: number; watched: Watched[] } {
  for (let seed = firstSeed; seed < firstSeed + maxSeeds; seed += 1) {
    const population = populationOf(rows, seed, changes);
    const second = trueChanges(population, 2);
    const watched = chooseWatched(second, unchangedCompany(population, second));
    if (watched) return { seed, watched };
  }
  throw new RangeError(`no invented register of ${rows} rows holds every kind of change: choose more rows`);
}

function unchangedCompany(population: Population, second: readonly TrueChange[]): string {
  const changed = new Set(second.map(({ ruc }) => ruc));
  for (let index = 0; index < population.rows; index += 1) {
    const { ruc } = taxpayerOn(population, index, 1);
    if (ruc.startsWith('20') && !changed.has(ruc)) return ruc;
  }
  throw new RangeError('no company stays as it is');
}
