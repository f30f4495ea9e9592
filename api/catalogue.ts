import type { Pool } from '../deploy/runtime/postgres.ts';
import { latestMaterialised, type ServedEdition } from '../pipelines/editions/served.ts';
import type { Source } from '../schemas/http/taxpayer.ts';
import { limaTime } from '../schemas/lima-time.ts';
import type { RegisterName } from '../schemas/registers.ts';
import { type LastKnownLimits, makeLastKnown } from './last-known.ts';
import { registerNotLoaded, storeUnavailable } from './problems.ts';

/** A served edition with what answers say about it, made once per edition and not per answer. */
export interface ServedRegister {
  edition: ServedEdition;
  source: Source;
  lastModified: string;
}

/**
 * Which edition each register shows. Take it before the query that reads the state, never after: an answer's date may be
 * older than its data for a moment, but never fresher. When PostgreSQL does not answer, the last known one serves 60 s,
 * which keeps that order.
 */
export interface Catalogue {
  /** null: the register was never loaded. @throws ApiProblem servicio_no_disponible */
  find(register: RegisterName): Promise<ServedRegister | null>;
  /** @throws ApiProblem padron_no_disponible, servicio_no_disponible */
  served(register: RegisterName): Promise<ServedRegister>;
}

/** Fresh for a fifth of a second: a customer who looks up on receiving a notice should see the notice's date. */
export const catalogueLimits: LastKnownLimits = {
  freshMs: 200,
  servesMs: 60_000,
  loadTimeoutMs: 2_000,
  retryAfterMs: 1_000,
  maxEntries: 100,
};

export function makeCatalogue(pool: Pool, limits: LastKnownLimits = catalogueLimits): Catalogue {
  const registers = makeLastKnown(async (register: RegisterName) => {
    const edition = await latestMaterialised(pool, register);
    return edition === null ? null : describe(register, edition);
  }, limits);
  const find = async (register: RegisterName) => {
    try {
      return await registers.get(register);
    } catch (error) {
      throw storeUnavailable(error);
    }
  };
  return {
    find,
    async served(register) {
      const found = await find(register);
      if (found === null) throw registerNotLoaded();
      return found;
    },
  };
}

function describe(register: RegisterName, edition: ServedEdition): ServedRegister {
  return {
    edition,
    lastModified: edition.publishedAt.toUTCString(),
    source: {
      registro: register,
      fecha_dato: edition.fechaDato,
      publicado_en: limaTime(edition.publishedAt),
      cargado_en: limaTime(edition.materialisedAt),
      sha256: edition.sha256,
    },
  };
}
