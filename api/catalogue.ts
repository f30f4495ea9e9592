import { LRUCache } from 'lru-cache';
import { type EditionFacts, editionFacts } from '../pipelines/editions/editions.ts';
import { editionOf, firstServedDay, type ServedEdition, servedEditions } from '../pipelines/editions/served.ts';
import type { Pool } from '../pipelines/runtime/postgres.ts';
import type { Source } from '../schemas/http/taxpayer.ts';
import { limaTime } from '../schemas/lima-time.ts';
import type { RegisterName } from '../schemas/registers.ts';
import { type LastKnownLimits, makeLastKnown } from './last-known.ts';
import { storeUnavailable } from './problems.ts';

/** A served edition with what answers say about it, which is made once per edition. */
export interface ServedRegister {
  edition: ServedEdition;
  source: Source;
  lastModified: string;
}

/** Each register's edition at one moment. A register that was never loaded is left out. */
export type ServedRegisters = Readonly<Partial<Record<RegisterName, ServedRegister>>>;

/**
 * Which edition each register serves. Take the snapshot before the query that reads the state, never after, so that an
 * answer's date is never newer than its data. A row that a later edition wrote meanwhile takes that edition's date.
 * While PostgreSQL is down the last known snapshot serves for 60 s, which keeps that order.
 */
export interface Catalogue {
  /** All registers at one moment, read by one statement. @throws ApiProblem servicio_no_disponible */
  snapshot(): Promise<ServedRegisters>;
  /** The edition that wrote a row of this version: `served`, or a later one that is still being written. */
  servedFor(served: ServedRegister, version: number): Promise<ServedRegister>;
}

/** Fresh for a fifth of a second, so that a finished edition is served soon. */
const catalogueLimits: LastKnownLimits = {
  freshMs: 200,
  servesMs: 60_000,
  loadTimeoutMs: 2_000,
  retryAfterMs: 1_000,
  maxEntries: 100,
};

export function makeCatalogue(pool: Pool): Catalogue {
  const all = makeLastKnown((_: 'all') => readServed(pool), catalogueLimits);
  const later = makeLastKnown(async (key: `${RegisterName}:${number}`) => {
    const [register, number] = key.split(':') as [RegisterName, string];
    const edition = await editionOf(pool, register, Number(number));
    if (edition === null)
      throw new Error(`a row is of edition ${number} of ${register}, which the catalogue does not have`);
    return describeServed(register, edition);
  }, catalogueLimits);
  return {
    snapshot: () => all.get('all').catch(unavailable),
    async servedFor(served, version) {
      if (version <= served.edition.number) return served;
      return later.get(`${served.source.registro}:${version}`).catch(unavailable);
    },
  };
}

async function readServed(pool: Pool, day?: string): Promise<ServedRegisters> {
  const found = await servedEditions(pool, day);
  return Object.fromEntries([...found].map(([register, edition]) => [register, describeServed(register, edition)]));
}

function describeServed(register: RegisterName, edition: ServedEdition): ServedRegister {
  return {
    edition,
    lastModified: edition.publishedAt.toUTCString(),
    source: {
      registro: register,
      fecha_dato: edition.fechaDato,
      publicado_en: limaTime(edition.publishedAt),
      cargado_en: edition.materialisedAt === null ? null : limaTime(edition.materialisedAt),
      sha256: edition.sha256,
    },
  };
}

/** Every `meta` states the date of the data. It is null for lists and webhooks created before any data was loaded. */
export async function registerMeta(catalogue: Catalogue): Promise<{ fecha_dato: string | null }> {
  const { padron_reducido } = await catalogue.snapshot();
  return { fecha_dato: padron_reducido?.edition.fechaDato ?? null };
}

/**
 * The catalogue of past days and editions. Every method rejects with servicio_no_disponible while PostgreSQL is down.
 */
export interface PastEditions {
  /** Like `Catalogue.snapshot`, as of a day. */
  on(day: string): Promise<ServedRegisters>;
  /** The first day with data. Null: the register was never loaded. */
  firstDay(register: RegisterName): Promise<string | null>;
  /** The facts of editions that wrote rows. One that the catalogue does not have is an error. */
  facts(wanted: readonly EditionName[]): Promise<FactsOf>;
}

export interface EditionName {
  register: RegisterName;
  number: number;
}
export type FactsOf = (register: RegisterName, number: number) => EditionFacts;

/** An answer under one state of the catalogue stays true, so these limits only bound the memory. */
const dayLimits: LastKnownLimits = {
  freshMs: 600_000,
  servesMs: 600_000,
  loadTimeoutMs: 2_000,
  retryAfterMs: 0,
  maxEntries: 2_000,
};
const maxFacts = 50_000;

export function makePastEditions(pool: Pool, catalogue: Catalogue): PastEditions {
  // The edition of a past day changes only when the catalogue does: by a new edition, a correction, or a date that
  // moved. So a day is read once per state of the catalogue.
  const days = makeLastKnown(
    (key: `${string}|${string}`) => readServed(pool, key.slice(0, key.indexOf('|'))),
    dayLimits,
  );
  const known = new LRUCache<string, EditionFacts>({ max: maxFacts });
  return {
    async on(day) {
      const now = stateOf(await catalogue.snapshot());
      return days.get(`${day}|${now}`).catch(unavailable);
    },
    firstDay: (register) => firstServedDay(pool, register).catch(unavailable),
    async facts(wanted) {
      const named = new Map(wanted.map((name) => [keyOf(name), known.get(keyOf(name))]));
      const missing = wanted.filter((name) => named.get(keyOf(name)) === undefined);
      const found = missing.length === 0 ? [] : await editionFacts(pool, missing).catch(unavailable);
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

function unavailable(error: unknown): never {
  throw storeUnavailable(error);
}
