import { displayCondicion, displayEstado } from '../../schemas/display-texts.ts';
import { type SearchHit, type SearchMeta, searchQuery } from '../../schemas/http/search.ts';
import { padronReducido } from '../../schemas/registers.ts';
import type { UbigeoCatalogue } from '../../schemas/ubigeo/catalogue.ts';
import type { Identify } from '../accounts/callers.ts';
import { answerRevalidated } from '../answers.ts';
import type { Catalogue } from '../catalogue.ts';
import { notOfThisList, readCursor, writeCursor } from '../input.ts';
import { charge, metered, reserve } from '../metering/middleware.ts';
import type { Meter } from '../metering/types.ts';
import { registerNotLoaded, storeUnavailable } from '../problems.ts';
import { clean } from '../queries/address.ts';
import { type ApiRouter, access, parseInput } from '../request.ts';
import type { FindCompanies, Hit } from '../search/find-companies.ts';
import { matchOf, type Position, type Positions, questionOf, scoreOf } from '../search/rank.ts';
import { NamesIncomplete, type RequireNames } from '../search/store.ts';

export interface SearchParts {
  identify: Identify;
  meter: Meter;
  catalogue: Catalogue;
  ubigeos: UbigeoCatalogue;
  findCompanies: FindCompanies;
  requireNames: RequireNames;
  positions: Positions;
}

const route = '/id/v1/ruc/buscar';
/** Of one query, over all its pages: who needs more needs another question, or the bulk files. */
export const maxHits = 1_000;

/** GET and HEAD /id/v1/ruc/buscar: companies by name, best first. Before `ruc/{ruc}`, which would take the word for a RUC. */
export function registerSearchRoutes(router: ApiRouter, parts: SearchParts): void {
  const { identify, meter, catalogue, ubigeos, findCompanies, requireNames, positions } = parts;
  router.get(route, access(identify, 'micro'), metered(meter), async (context) => {
    const query = parseInput(searchQuery, context.query);
    const question = questionOf(query);
    const position = positionOf(positions, query.cursor, question);
    await reserve(context, meter, 1);
    // Before the query and never after: see api/catalogue.ts.
    const { padron_reducido: daily } = await catalogue.snapshot();
    if (daily === undefined) throw registerNotLoaded();
    const given = position?.given ?? 0;
    const limite = Math.min(query.limite, maxHits - given);
    const [{ hits, next }] = await Promise.all([
      findCompanies(query, limite, position?.after ?? null),
      requireNames(),
    ]).catch(unavailable);
    if (hits.length > 0) charge(context);
    const { number } = daily.edition;
    const total = given + hits.length;
    const goesOn = next !== null && total < maxHits;
    const meta: SearchMeta = {
      origen: padronReducido.title,
      fecha_dato: daily.edition.fechaDato,
      cursor: goesOn
        ? writeCursor('buscar', positions.write({ edition: number, given: total, after: next }, question))
        : null,
      edicion_cambiada: position !== null && position.edition !== number,
    };
    const data = hits.map((hit) => shown(hit, ubigeos));
    answerRevalidated(context, { meta, tag: String(number), lastModified: daily.lastModified }, data);
  });
}

function positionOf(positions: Positions, cursor: string | undefined, question: string): Position | null {
  const key = readCursor('buscar', cursor, '');
  if (key === '') return null;
  const position = positions.read(key, question);
  if (position === null) throw notOfThisList();
  return position;
}

function unavailable(error: unknown): never {
  throw error instanceof NamesIncomplete
    ? Object.assign(registerNotLoaded(), { cause: error })
    : storeUnavailable(error);
}

function shown({ company, rank }: Hit, ubigeos: UbigeoCatalogue): SearchHit {
  const code = clean(company.ubigeo);
  const place = code === '' ? null : ubigeos.find(code);
  return {
    ruc: company.ruc,
    nombre: company.nombre,
    estado: displayEstado(company.estado),
    condicion: displayCondicion(company.condicion),
    ubigeo: code === '' ? null : code,
    departamento: place?.departamento ?? null,
    provincia: place?.provincia ?? null,
    distrito: place?.distrito ?? null,
    coincidencia: matchOf(rank),
    puntaje: scoreOf(rank),
  };
}
