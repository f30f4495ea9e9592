import { type EditionFacts, editionFacts } from '../pipelines/editions/editions.ts';
import { editionOf, firstServedDay, type ServedEdition, servedEditions } from '../pipelines/editions/served.ts';
import type { Pool } from '../pipelines/runtime/postgres.ts';
import type { Source } from '../schemas/http/taxpayer.ts';
import { limaTime } from '../schemas/lima-time.ts';
import type { RegisterName } from '../schemas/registers.ts';
import { type LastKnownLimits, makeLastKnown } from './last-known.ts';
import { storeUnavailable } from './problems.ts';

/** A served edition with what answers say about it, made once per edition and not per answer. */
export interface ServedRegister {
  edition: ServedEdition;
  source: Source;
  lastModified: string;
}

/** Each register's edition at one moment; a register that was never loaded is left out. */
export type ServedRegisters = Readonly<Partial<Record<RegisterName, ServedRegister>>>;

/**
 * Which edition each register shows. Take it before the query that reads the state, never after, so that an answer's date
 * is never fresher than its data; a row that a later edition wrote meanwhile takes its date from that edition. When
 * PostgreSQL does not answer, the last known one serves 60 s, which keeps that order.
 */
export interface Catalogue {
  /** All registers of one moment: one statement per renewal, however many there are. @throws ApiProblem servicio_no_disponible */
  snapshot(): Promise<ServedRegisters>;
  /** The edition that a row of this version is from: `served`, or a later one that is being written. */
  servedFor(served: ServedRegister, version: number): Promise<ServedRegister>;
}

/** Fresh for a fifth of a second: a finished edition is told of soon. */
const catalogueLimits: LastKnownLimits = {
  freshMs: 200,
  servesMs: 60_000,
  loadTimeoutMs: 2_000,
  retryAfterMs: 1_000,
  maxEntries: 100,
};

export function makeCatalogue(pool: Pool): Catalogue {
  const all = makeLastKnown(async (_: 'all') => {
    const registers: Partial<Record<RegisterName, ServedRegister>> = {};
    for (const [register, edition] of await servedEditions(pool))
      registers[register] = describeServed(register, edition);
    return registers;
  }, catalogueLimits);
  const later = makeLastKnown(async (key: `${RegisterName}:${number}`) => {
    const [register, number] = key.split(':') as [RegisterName, string];
    const edition = await editionOf(pool, register, Number(number));
    if (edition === null)
      throw new Error(`a row is of edition ${number} of ${register}, which the catalogue does not have`);
    return describeServed(register, edition);
  }, catalogueLimits);
  const orUnavailable = (error: unknown) => {
    throw storeUnavailable(error);
  };
  return {
    snapshot: () => all.get('all').catch(orUnavailable),
    async servedFor(served, version) {
      if (version <= served.edition.number) return served;
      return later.get(`${served.source.registro}:${version}`).catch(orUnavailable);
    },
  };
}

/** What answers say of an edition. */
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

/** What the catalogue says of days and editions that are over. All of it rejects with servicio_no_disponible. */
export interface PastEditions {
  /** As `Catalogue.snapshot`, of the editions as of a day; a register that had none yet is left out. */
  on(day: string): Promise<ServedRegisters>;
  /** The first day that can be asked for; null: the register was never loaded. */
  firstDay(register: RegisterName): Promise<string | null>;
  /** Of each edition named; one that the catalogue does not have is an error, since it wrote a row. */
  facts(wanted: readonly EditionName[]): Promise<FactsOf>;
}

export interface EditionName {
  register: RegisterName;
  number: number;
}
export type FactsOf = (register: RegisterName, number: number) => EditionFacts;

/** What is found under a name of the catalogue's state stays true; the limits only bound what is kept. */
const dayLimits: LastKnownLimits = {
  freshMs: 600_000,
  servesMs: 600_000,
  loadTimeoutMs: 2_000,
  retryAfterMs: 0,
  maxEntries: 2_000,
};
const maxFacts = 50_000;

export function makePastEditions(pool: Pool, catalogue: Catalogue): PastEditions {
  // Which edition a past day shows changes only with what the catalogue shows now: a new edition, a correction among them,
  // or a date that moved. So a day is asked for once for each state of the catalogue.
  const days = makeLastKnown(async (key: `${string}|${string}`) => {
    const registers: Partial<Record<RegisterName, ServedRegister>> = {};
    const found = await servedEditions(pool, key.slice(0, key.indexOf('|')));
    for (const [register, edition] of found) registers[register] = describeServed(register, edition);
    return registers as ServedRegisters;
  }, dayLimits);
  const known = new Map<string, EditionFacts>();
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
      while (known.size > maxFacts) known.delete(known.keys().next().value!);
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
