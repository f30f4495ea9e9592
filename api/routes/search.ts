import { displayCondicion, displayEstado } from '../../schemas/display-texts.ts';
import type { SearchHit } from '../../schemas/http/search.ts';
import { padronReducido } from '../../schemas/registers.ts';
import type { UbigeoCatalogue } from '../../schemas/ubigeo.ts';
import type { ApiDependencies } from '../dependencies.ts';
import { notOfThisList, readCursor, writeCursor } from '../input.ts';
import { registerNotLoaded, throwUnavailable } from '../problems.ts';
import { placeNames, sourcesOf } from '../queries/record.ts';
import { callerOf } from '../request.ts';
import type { Handlers } from '../router.ts';
import type { Hit } from '../search/find-companies.ts';
import { matchOf, type Position, type Positions, questionOf, scoreOf } from '../search/rank.ts';

/** Largest number of hits of one query over all its pages. A caller who needs more can narrow the query. */
export const maxHits = 1_000;

export function makeSearchHandlers(dependencies: ApiDependencies) {
  const { meter, catalogue, ubigeos, findCompanies, requireNames, positions } = dependencies;
  return {
    async buscarEmpresas({ query }, context) {
      const question = questionOf(query);
      const position = positionOf(positions, query.cursor, question);
      await meter.requireUnits(callerOf(context), 1);
      // The snapshot is taken before the query. If it were taken after the query, the answer's date could be newer than
      // its data.
      const editions = await catalogue.snapshot();
      const { padron_reducido: daily } = editions;
      if (daily === undefined) throw registerNotLoaded();
      const given = position?.given ?? 0;
      const limite = Math.min(query.limite, maxHits - given);
      const [{ hits, next }] = await Promise.all([
        findCompanies(query, limite, position?.after ?? null),
        requireNames(),
      ]).catch(throwUnavailable);
      if (hits.length > 0) await meter.charge(callerOf(context), 1);
      const { number } = daily.edition;
      const total = given + hits.length;
      const goesOn = next !== null && total < maxHits;
      const meta = {
        origen: padronReducido.title,
        fecha_dato: daily.edition.fechaDato,
        cursor: goesOn
          ? writeCursor('buscar', positions.write({ edition: number, given: total, after: next }, question))
          : null,
        edicion_cambiada: position !== null && position.edition !== number,
      };
      const data = hits.map((hit) => shown(hit, ubigeos));
      const { tag, modifiedAt } = sourcesOf(['padron_reducido', 'padron_mensual'], editions);
      // While the next edition is being written, its companies appear in answers one after the other. Answers then
      // change at any moment, so they have no time of modification.
      const isChanging = [daily, editions.padron_mensual].some((served) => served?.edition.isNextUnfinished);
      return { data, meta, tag, modifiedAt: isChanging ? null : modifiedAt };
    },
  } satisfies Partial<Handlers>;
}

function positionOf(positions: Positions, cursor: string | undefined, question: string): Position | null {
  const key = readCursor('buscar', cursor, '');
  if (key === '') return null;
  const position = positions.read(key, question);
  if (position === null) throw notOfThisList();
  return position;
}

function shown({ company, rank }: Hit, ubigeos: UbigeoCatalogue): SearchHit {
  return {
    ruc: company.ruc,
    nombre: company.nombre,
    estado: displayEstado(company.estado),
    condicion: displayCondicion(company.condicion),
    ubigeo: company.ubigeo,
    ...placeNames(company.ubigeo, ubigeos),
    coincidencia: matchOf(rank),
    puntaje: scoreOf(rank),
  };
}
