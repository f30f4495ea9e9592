import { type EditionFacts, editionFacts } from '../pipelines/editions/editions.ts';
import { firstServedDay, servedEditions } from '../pipelines/editions/served.ts';
import type { Pool } from '../pipelines/runtime/postgres.ts';
import type { RegisterName } from '../schemas/registers.ts';
import { type Catalogue, describeServed, type ServedRegister, type ServedRegisters } from './catalogue.ts';
import { type LastKnownLimits, makeLastKnown } from './last-known.ts';
import { storeUnavailable } from './problems.ts';

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
