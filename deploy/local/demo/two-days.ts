import { limaDay } from '../../../schemas/lima-time.ts';
import { isCompany } from '../../../schemas/ruc.ts';
import { barredForGood } from './register/bars.ts';
import { type DayOptions, type PublishedDay, writeDay } from './register/day.ts';
import { agentsOf, goodTaxpayersOf, type ListKind } from './register/lists.ts';
import { type Month, monthlyCells } from './register/monthly.ts';
import {
  membershipChanges,
  type Population,
  populationOf,
  type TrueChange,
  taxpayerOn,
  trueChanges,
} from './register/population.ts';
import { chooseWatched, type Watched } from './watched.ts';

export interface TwoDays {
  first: PublishedDay;
  second: PublishedDay;
  /** One company for each kind of change on day 2, and one that does not change. */
  watched: Watched[];
  /** The watched company that enters the list of retention agents. Every field of its record is known. */
  complete: string;
  /** A company that is barred for ever from contracts with the state. */
  barred: string;
  /** A natural person who is in the register on day 2. */
  person: string;
  /** RUCs that day 2 adds to each list and removes from it. */
  listChanges: Record<ListKind, { entered: string[]; left: string[] }>;
}

const firstSeed = 20_261_126;
const maxSeeds = 1_000;
const hourMs = 3_600_000;
const missing = 'NO DISPONIBLE';

/**
 * Fewer than 100 rows are new or changed. Even in a small register no gate stops a publication for so few rows
 * (`minAffectedRows` in workflows/publication/gate-settings.ts).
 */
const fewChanges = { inserted: 30, deleted: 30, updated: 65 };
const changedInMonth = 50;

/**
 * Writes invented publications of all registers for yesterday and today, in the official formats. The monthly register
 * has a new month today.
 */
export async function writeTwoDays(directory: string, rows: number, changes = fewChanges): Promise<TwoDays> {
  const now = Date.now();
  const today = at(now, 6);
  const months = monthsUntil(today);
  const { population, watched, complete, barred } = inventRegisters(rows, changes, months.second);
  const common: Pick<DayOptions, 'directory' | 'population'> = { directory, population };
  return {
    first: await writeDay({ ...common, day: 1, lastModified: at(now, 30), month: months.first }),
    second: await writeDay({ ...common, day: 2, lastModified: today, month: months.second }),
    watched,
    complete,
    barred,
    person: trueChanges(population, 2).find(({ op, ruc }) => op === 'u' && !isCompany(ruc))!.ruc,
    listChanges: {
      agentes_retencion: rucsOf(membershipChanges(agentsOf(population), 2)),
      buenos_contribuyentes: rucsOf(membershipChanges(goodTaxpayersOf(population), 2)),
    },
  };
}

function rucsOf({ entered, left }: ReturnType<typeof membershipChanges>): { entered: string[]; left: string[] } {
  return { entered: entered.map(({ ruc }) => ruc), left: left.map(({ ruc }) => ruc) };
}

/** The time `hoursAgo` hours before `now`, in whole seconds because HTTP dates have no fractions. */
function at(now: number, hoursAgo: number): Date {
  return new Date(Math.floor((now - hoursAgo * hourMs) / 1000) * 1000);
}

function monthsUntil(today: Date): { first: Month; second: Month } {
  const period = limaDay(today).slice(0, 7);
  return {
    first: { number: 1, period: monthBefore(period).replace('-', ''), day: 1, changed: changedInMonth },
    second: { number: 2, period: period.replace('-', ''), day: 2, changed: changedInMonth },
  };
}

/** The month before, as `YYYY-MM`. */
export function monthBefore(month: string): string {
  const [year, number] = month.split('-').map(Number);
  return new Date(Date.UTC(year!, number! - 2, 15)).toISOString().slice(0, 7);
}

/** Tries seeds until the invented registers have a company for every kind of change that is watched. */
function inventRegisters(rows: number, changes: Partial<Population>, month: Month) {
  for (let seed = firstSeed; seed < firstSeed + maxSeeds; seed += 1) {
    const population = populationOf(rows, seed, changes);
    const daily = trueChanges(population, 2);
    const changed = new Set(daily.map(({ ruc }) => ruc));
    const { entered } = membershipChanges(agentsOf(population), 2);
    const { entered: praised, left: excluded } = membershipChanges(goodTaxpayersOf(population), 2);
    const lists = [...entered, ...praised, ...excluded].map(({ ruc }) => ruc);
    const once = (ruc: string) => !changed.has(ruc) && lists.filter((other) => other === ruc).length === 1;
    const complete = entered.find(({ index, ruc }) => once(ruc) && isComplete(population, index, month))?.ruc;
    const watched = chooseWatched({
      daily: daily.filter(({ ruc }) => !lists.includes(ruc)),
      agent: complete,
      formerGoodTaxpayer: excluded.find(({ ruc }) => once(ruc) && ruc.startsWith('20'))?.ruc,
      unchanged: unchangedCompany(population, daily, lists),
    });
    const barred = barredForGood(population);
    if (watched !== null && complete !== undefined && barred !== undefined)
      return { population, watched, complete, barred };
  }
  throw new RangeError(`no invented registers of ${rows} rows hold every kind of change: choose more rows`);
}

/**
 * True if the taxpayer's monthly row has an activity, a number of workers and a billing system (cells 6 to 8). No other
 * cell that a record shows is ever missing in the invented register.
 */
function isComplete(population: Population, index: number, month: Month): boolean {
  const cells = monthlyCells(population, index, month);
  return cells?.slice(6, 9).every((cell) => cell !== missing) ?? false;
}

function unchangedCompany(population: Population, daily: readonly TrueChange[], lists: readonly string[]): string {
  const changed = new Set([...daily.map(({ ruc }) => ruc), ...lists]);
  for (let index = 0; index < population.rows; index += 1) {
    const { ruc } = taxpayerOn(population, index, 1);
    if (ruc.startsWith('20') && !changed.has(ruc)) return ruc;
  }
  throw new RangeError('no company stays as it is');
}
