import { editionOf, type ServedEdition, servedEditions } from '../pipelines/editions/served.ts';
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
export function describeServed(register: RegisterName, edition: ServedEdition): ServedRegister {
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
