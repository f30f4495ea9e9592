import { LRUCache } from 'lru-cache';
import { type EditionFacts, editionFacts } from '../pipelines/editions/editions.ts';
import {
  editionOf,
  firstServedDay,
  type Holders,
  type ServedEdition,
  servedEditions,
  servedEditionsAndHolders,
} from '../pipelines/editions/served.ts';
import type { Pool } from '../pipelines/runtime/postgres.ts';
import type { Source } from '../schemas/http/taxpayer.ts';
import { limaTime } from '../schemas/lima-time.ts';
import type { RegisterName } from '../schemas/registers.ts';
import { type LastKnownLimits, makeLastKnown } from './last-known.ts';
import { storeUnavailable, throwUnavailable } from './problems.ts';

/** A served edition, and the texts that answers show about it. */
export interface ServedRegister {
  edition: ServedEdition;
  source: Source;
  /**
   * The latest time at which answers about this edition may have changed (see `modifiedAtOf`). Null while the edition's
   * rows are still being written, because answers then change at any moment.
   */
  modifiedAt: Date | null;
}

/** The edition that each register serves at one moment. A register that was never loaded is left out. */
export type ServedRegisters = Readonly<Partial<Record<RegisterName, ServedRegister>>>;

/**
 * Knows which edition each register serves. Take the snapshot before the query that reads rows. Otherwise an answer
 * could show a date that is newer than its data. If a row is from a later edition than the snapshot's, `edition`
 * returns that edition. While PostgreSQL is down, the last known snapshot is served for 60 s. The snapshot may be older
 * than the data, but never newer.
 */
export interface Catalogue {
  /** Reads the editions of all registers with one statement. @throws ApiProblem servicio_no_disponible */
  snapshot(): Promise<ServedRegisters>;
  /** Returns an edition by its number, even when the snapshot does not contain it yet. */
  edition(register: RegisterName, number: number): Promise<ServedRegister>;
}

/**
 * A snapshot is fresh for only a fifth of a second, so that a finished edition is served soon. `servesMs` is also how
 * long this process may ask a ClickHouse replica that has stopped: see `askedAfterStopMs` in
 * pipelines/replicas/catalogue.ts, which is longer.
 */
export const catalogueLimits: LastKnownLimits = {
  freshMs: 200,
  servesMs: 60_000,
  loadTimeoutMs: 2_000,
  firstTimeoutMs: 5_000,
  retryAfterMs: 1_000,
  maxEntries: 100,
};

/** Gets the replicas that hold what a snapshot serves, before anybody gets the snapshot. */
interface HoldersReader {
  /** @param readAt when the read began, in milliseconds of performance.now() */
  note(holders: Holders, readAt: number): void;
}

/**
 * @param startedAt when this process started
 * @param replicas the ClickHouse replicas, if there are several
 */
export function makeCatalogue(pool: Pool, startedAt = new Date(), replicas?: HoldersReader): Catalogue {
  const readAll = async () => {
    if (replicas === undefined) return readServed(pool, startedAt);
    const readAt = performance.now();
    const { served, holders } = await servedEditionsAndHolders(pool);
    replicas.note(holders, readAt);
    return describeAll(served, startedAt);
  };
  const all = makeLastKnown((_: 'all') => readAll(), catalogueLimits);
  const later = makeLastKnown(async (key: `${RegisterName}:${number}`) => {
    const [register, number] = key.split(':') as [RegisterName, string];
    const edition = await editionOf(pool, register, Number(number));
    if (edition === null)
      throw new Error(`a row is of edition ${number} of ${register}, which the catalogue does not have`);
    return describeServed(edition, startedAt);
  }, catalogueLimits);
  return {
    snapshot: () => all.get('all').catch(throwUnavailable),
    edition: (register, number) => later.get(`${register}:${number}`).catch(throwUnavailable),
  };
}

async function readServed(pool: Pool, startedAt: Date, day?: string): Promise<ServedRegisters> {
  return describeAll(await servedEditions(pool, day), startedAt);
}

function describeAll(served: ReadonlyMap<RegisterName, ServedEdition>, startedAt: Date): ServedRegisters {
  return Object.fromEntries([...served].map(([register, edition]) => [register, describeServed(edition, startedAt)]));
}

function describeServed(edition: ServedEdition, startedAt: Date): ServedRegister {
  return {
    edition,
    modifiedAt: modifiedAtOf(edition, startedAt),
    source: {
      registro: edition.register,
      fecha_dato: edition.fechaDato,
      publicado_en: limaTime(edition.publishedAt),
      cargado_en: edition.materialisedAt === null ? null : limaTime(edition.materialisedAt),
      sha256: edition.sha256,
    },
  };
}

/**
 * An edition counts as changed `freshMs` after the change, because until then other processes may show what was before.
 * It counts as no older than this process, because a release may show the same data in another form.
 */
function modifiedAtOf({ changedAt }: ServedEdition, startedAt: Date): Date | null {
  if (changedAt === null) return null;
  return new Date(Math.max(changedAt.getTime() + catalogueLimits.freshMs, startedAt.getTime()));
}

/** Since when answers from these registers have not changed. Null while an edition that they show is being written. */
export function newestChange(used: readonly ServedRegister[]): Date | null {
  const times = used.flatMap(({ modifiedAt }) => modifiedAt?.getTime() ?? []);
  return times.length < used.length ? null : new Date(Math.max(...times));
}

/**
 * Returns the `meta` of an answer that is not made from a register, such as a list or a webhook. `fecha_dato` is the
 * date of the daily register, or null until the daily register is first loaded.
 */
export async function registerMeta(catalogue: Catalogue): Promise<{ fecha_dato: string | null }> {
  const { padron_reducido } = await catalogue.snapshot();
  return { fecha_dato: padron_reducido?.edition.fechaDato ?? null };
}

/**
 * Finds past editions. Days and facts that were read before are in memory. A method that has to ask PostgreSQL throws
 * servicio_no_disponible while PostgreSQL is down.
 */
export interface PastEditions {
  /** Returns the edition that each register served on a day. */
  on(day: string): Promise<ServedRegisters>;
  /** Returns the first day with data, or null when the register was never loaded. */
  firstDay(register: RegisterName): Promise<string | null>;
  /**
   * Reads the wanted editions' `EditionFacts` and returns a function that finds those of one edition. The returned
   * function throws servicio_no_disponible for an edition that does not exist or was not wanted.
   */
  facts(wanted: readonly EditionName[]): Promise<FactsOf>;
}

export interface EditionName {
  register: RegisterName;
  number: number;
}
export type FactsOf = (register: RegisterName, number: number) => EditionFacts;

/**
 * Limits of the cache of each past day's editions in `makePastEditions`. The limits only bound the memory. An entry is
 * never out of date, because its key includes the state of the catalogue.
 */
const dayLimits: LastKnownLimits = {
  freshMs: 600_000,
  servesMs: 600_000,
  loadTimeoutMs: 2_000,
  retryAfterMs: 0,
  maxEntries: 2_000,
};
const maxFacts = 50_000;

/** @param startedAt when this process started */
export function makePastEditions(pool: Pool, catalogue: Catalogue, startedAt = new Date()): PastEditions {
  // The editions of a past day change only when the catalogue changes: by a new edition, by a correction, or when an
  // edition gets another date. So each day is read once per state of the catalogue.
  const days = makeLastKnown(
    (key: `${string}|${string}`) => readServed(pool, startedAt, key.slice(0, key.indexOf('|'))),
    dayLimits,
  );
  const known = new LRUCache<string, EditionFacts>({ max: maxFacts });
  return {
    async on(day) {
      const now = stateOf(await catalogue.snapshot());
      return days.get(`${day}|${now}`).catch(throwUnavailable);
    },
    firstDay: (register) => firstServedDay(pool, register).catch(throwUnavailable),
    async facts(wanted) {
      const named = new Map(wanted.map((name) => [keyOf(name), known.get(keyOf(name))]));
      const missing = wanted.filter((name) => named.get(keyOf(name)) === undefined);
      const found = missing.length === 0 ? [] : await editionFacts(pool, missing).catch(throwUnavailable);
      for (const facts of found) {
        named.set(keyOf(facts), facts);
        known.set(keyOf(facts), facts);
      }
      return (register, number) => {
        const facts = named.get(keyOf({ register, number }));
        if (facts !== undefined) return facts;
        const why = `a row is of edition ${number} of ${register}, which the catalogue does not have`;
        throw storeUnavailable(new Error(why));
      };
    },
  };
}

function keyOf({ register, number }: EditionName): string {
  return `${register}:${number}`;
}

function stateOf(served: ServedRegisters): string {
  return Object.values(served)
    .map(({ edition }) => `${edition.number}/${edition.fechaDato}/${edition.publishedAt.getTime()}`)
    .join();
}
