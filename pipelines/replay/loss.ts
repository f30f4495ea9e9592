import type { RegisterName } from '../../schemas/registers.ts';
import { behindReason } from '../stream/catalogue-check.ts';

/** What the catalogue has of one edition. */
export interface CatalogueEdition {
  register: RegisterName;
  number: number;
  changes: number;
  /** Rows that the edition repeated without a change. Only an edition that writes every row has any. */
  baseline: number;
  /** Rows of the state that the edition leads to; null if the catalogue does not say it. */
  rows: number | null;
  /** Companies among `rows`. */
  companies: number | null;
  isMaterialised: boolean;
}

/** What ClickHouse holds of one register. Keys of the maps are numbers of editions. */
export interface StoredCounts {
  /** Keys of the state by the edition of their newest row. */
  state: ReadonlyMap<number, { keys: number; live: number }>;
  /** Rows of the history by edition, superseded repeats included. */
  history: ReadonlyMap<number, number>;
  /** Keys of the history by their newest edition. */
  changed: ReadonlyMap<number, number>;
}

/** What ClickHouse holds of the index of names, which only the daily register has. */
export interface StoredNames {
  /** Companies that have a name. */
  companies: number;
  /** First words of names that the vocabulary lacks. */
  unknownWords: number;
}

/** The share of companies that may have no name in the index: those whose name has no letter and no digit. */
const namelessShare = 0.01;

/**
 * Compares what ClickHouse holds of a register with the edition that the catalogue serves. Returns what is lost and the
 * command that brings it back, or null. Rows of a later edition may arrive meanwhile and replace others, so each number
 * may differ by the changes of later editions.
 * @param before the register's editions as they were before the counts were read
 * @param after the same after the counts were read, so that every edition is in it whose rows were counted
 */
export function lossOf(
  register: RegisterName,
  before: readonly CatalogueEdition[],
  after: readonly CatalogueEdition[],
  stored: StoredCounts,
  names: StoredNames | null,
): string | null {
  const served = before.findLast(({ isMaterialised }) => isMaterialised);
  if (served === undefined) return null;
  const newest = Math.max(0, ...stored.state.keys());
  // The catalogue is the older one: PostgreSQL was restored, and its counts say nothing about later rows. The worker
  // reports that, and look-ups of such rows answer 503.
  if (newest > Math.max(...after.map(({ number }) => number))) return null;
  const written = before.filter(({ number }) => number <= served.number);
  const lastWritten = written.findLast(({ changes }) => changes > 0)?.number ?? 0;
  if (newest < lastWritten) return mendedBy(register, behindReason(register, newest, served.number));
  const later = sum(after.filter(({ number }) => number > served.number).map(({ changes }) => changes));
  const history = sum(written.map((edition) => historyLoss(edition, stored)));
  const state = Math.max(liveLoss(served, stored, later), history > 0 ? 0 : newestLoss(written, stored, later));
  const lost = [
    [state, 'rows of the state'],
    [history, 'rows of the history'],
    [nameLoss(served, names, later), 'names of companies'],
    [names?.unknownWords ?? 0, 'words of names'],
  ] as const;
  const parts = lost.filter(([count]) => count > 0).map(([count, what]) => `${count} ${what}`);
  if (parts.length === 0) return null;
  return mendedBy(register, `clickhouse_lost: of ${register}, ClickHouse lacks at least ${parts.join(' and ')}`);
}

/** How many live rows the state lacks, or shows although they were deleted. */
function liveLoss({ rows }: CatalogueEdition, { state }: StoredCounts, later: number): number {
  const live = sum([...state.values()].map((each) => each.live));
  return rows === null ? 0 : Math.abs(live - rows) - later;
}

/**
 * How many keys show the row of an earlier edition than they should. After the last full edition, each edition has as
 * many keys in the state as in the history. This holds only if the history itself lacks nothing.
 */
function newestLoss(written: readonly CatalogueEdition[], { state, changed }: StoredCounts, later: number): number {
  const lastFull = written.findLast(({ baseline }) => baseline > 0)?.number ?? 1;
  const lost = written
    .filter(({ number }) => number > lastFull)
    .map(({ number }) => Math.max(0, (changed.get(number) ?? 0) - later - (state.get(number)?.keys ?? 0)));
  return sum(lost);
}

function historyLoss({ number, changes, baseline }: CatalogueEdition, { history }: StoredCounts): number {
  return Math.max(0, changes - baseline - (history.get(number) ?? 0));
}

function nameLoss({ companies }: CatalogueEdition, names: StoredNames | null, later: number): number {
  if (companies === null || names === null) return 0;
  return Math.max(0, Math.floor(companies * (1 - namelessShare)) - later - names.companies);
}

function mendedBy(register: RegisterName, what: string): string {
  return `${what}: run \`npx padron rebuild --register ${register}\``;
}

export function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
