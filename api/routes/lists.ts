import type { Pool } from '../../pipelines/runtime/postgres.ts';
import {
  addMembers,
  createList,
  deleteList,
  type ListProblem,
  maxLists,
  pageLists,
  pageMembers,
  readList,
  removeMember,
  updateList,
  type WatchList,
} from '../../pipelines/watch/lists.ts';
import { limaTime } from '../../schemas/lima-time.ts';
import { padronReducido } from '../../schemas/registers.ts';
import { registerMeta } from '../catalogue.ts';
import { refusalOfMember, requireCompany } from '../checks.ts';
import type { ApiDependencies } from '../dependencies.ts';
import { pageOf, readCursor } from '../input.ts';
import { operations } from '../operations.ts';
import { ApiProblem, maskText, notFound, throwUnavailable } from '../problems.ts';
import type { StoredRow, Taxpayers } from '../queries/look-up.ts';
import { statusOf } from '../queries/record.ts';
import { type ApiContext, callerOf } from '../request.ts';
import type { Handlers } from '../router.ts';

export const maxWatchedRucs = 100_000;

/** Handlers of the watch lists of the caller's account. A list of another account counts as not found. */
export function makeListHandlers({ catalogue, pool }: ApiDependencies) {
  return {
    async crearLista({ body: { nombre, referencia } }, context) {
      const wanted = { nombre, referencia: referencia ?? null };
      const meta = await registerMeta(catalogue);
      const result = await createList(pool, callerOf(context).accountId, wanted);
      if (!result.ok) throw listProblem(result, nombre);
      context.set('Location', `${operations.crearLista.path}/${result.list.id}`);
      return { data: shownList(result.list), meta };
    },

    async verListas({ query: { limite, cursor } }, context) {
      const after = Number(readCursor('listas', cursor, '0'));
      const lists = await pageLists(pool, callerOf(context).accountId, after, limite + 1);
      const { page, cursor: next } = pageOf('listas', lists, limite, ({ id }) => id);
      return { data: page.map(shownList), meta: { ...(await registerMeta(catalogue)), cursor: next } };
    },

    async verLista({ params }, context) {
      const list = await requireList(pool, context, params.lista);
      return { data: shownList(list), meta: await registerMeta(catalogue) };
    },

    async cambiarLista({ params, body }, context) {
      const meta = await registerMeta(catalogue);
      const result = await updateList(pool, callerOf(context).accountId, listIdOf(params.lista), body);
      if (!result.ok) throw listProblem(result, body.nombre ?? '');
      return { data: shownList(result.list), meta };
    },

    async borrarLista({ params }, context) {
      if (!(await deleteList(pool, callerOf(context).accountId, listIdOf(params.lista)))) throw notFound('La lista');
    },
  } satisfies Partial<Handlers>;
}

/** @throws ApiProblem recurso_no_encontrado when the list does not exist or belongs to another account */
export async function requireList(pool: Pool, context: ApiContext, id: string): Promise<WatchList> {
  const list = await readList(pool, callerOf(context).accountId, listIdOf(id));
  if (list === null) throw notFound('La lista');
  return list;
}

/** @throws ApiProblem recurso_no_encontrado when the text is not a number */
function listIdOf(text: string): number {
  if (!/^[0-9]{1,15}$/.test(text)) throw notFound('La lista');
  return Number(text);
}

function shownList({ id, nombre, referencia, rucs, created_at }: WatchList) {
  return { id, nombre, referencia, rucs, creada_en: limaTime(created_at) };
}

function listProblem({ problem }: ListProblem, nombre: string): ApiProblem {
  if (problem === 'name_taken') return new ApiProblem('nombre_en_uso', `Ya hay una lista llamada «${nombre}».`);
  if (problem === 'too_many')
    return new ApiProblem('limite_excedido', `La cuenta admite hasta ${maxLists.toLocaleString('en-US')} listas.`);
  return notFound('La lista');
}

/** Handlers of the RUCs in a list. A list has only companies, and may have RUCs that the register does not have yet. */
export function makeMemberHandlers({ catalogue, pool, taxpayers }: ApiDependencies) {
  return {
    async agregarRucs({ params, body }, context) {
      // A wrong RUC that is sent alone fails the request. A wrong RUC among several becomes an entry of the answer.
      const wanted = 'ruc' in body ? [requireCompany(body.ruc)] : [...new Set(body.rucs)];
      const refused = wanted.flatMap((ruc) => {
        const codigo = refusalOfMember(ruc);
        return codigo === null ? [] : [{ ruc: maskText(ruc), codigo }];
      });
      const companies = wanted.filter((ruc) => refusalOfMember(ruc) === null);
      const meta = await registerMeta(catalogue);
      const { accountId } = callerOf(context);
      const result = await addMembers(pool, accountId, listIdOf(params.lista), companies, maxWatchedRucs);
      if (!result.ok) throw result.problem === 'not_found' ? notFound('La lista') : tooMany(result.wanted);
      const isHeld = await makeIsHeld(taxpayers, result.added, meta.fecha_dato !== null);
      const data = {
        agregados: result.added.map((ruc) => ({ ruc, en_padron: isHeld(ruc) })),
        ya_estaban: result.present,
        rechazados: refused,
      };
      return { data, meta };
    },

    async verRucs({ params, query: { limite, cursor } }, context) {
      const after = readCursor('miembros', cursor, '');
      const list = await requireList(pool, context, params.lista);
      const meta = await registerMeta(catalogue);
      const members = await pageMembers(pool, list.id, after, limite + 1);
      const { page, cursor: next } = pageOf('miembros', members, limite, ({ ruc }) => ruc);
      const rows = await taxpayers.findMany(page.map(({ ruc }) => ruc)).catch(throwUnavailable);
      const data = page.map(({ ruc, added_at }, index) => {
        const row = dailyRow(rows[index]!);
        const status = row === undefined ? { estado: null, condicion: null } : statusOf(row.cells);
        return { ruc, agregado_en: limaTime(added_at), ...status };
      });
      return { data, meta: { ...meta, cursor: next } };
    },

    async quitarRuc({ params }, context) {
      const ruc = requireCompany(params.ruc);
      const list = await requireList(pool, context, params.lista);
      await removeMember(pool, list.id, ruc);
    },
  } satisfies Partial<Handlers>;
}

/**
 * Makes a function that answers whether the daily register has an added RUC. The answer is null when ClickHouse is down
 * or the register was never loaded. An error would be wrong, because the RUCs are already in the list.
 */
async function makeIsHeld(
  taxpayers: Taxpayers,
  rucs: readonly string[],
  isLoaded: boolean,
): Promise<(ruc: string) => boolean | null> {
  if (!isLoaded || rucs.length === 0) return () => null;
  try {
    const rows = await taxpayers.findMany(rucs);
    const held = new Set(rucs.filter((_, index) => dailyRow(rows[index]!) !== undefined));
    return (ruc) => held.has(ruc);
  } catch {
    return () => null;
  }
}

function dailyRow(rows: readonly StoredRow[]): StoredRow | undefined {
  return rows.find((row) => row.register === padronReducido.code && !row.isDeleted);
}

function tooMany(wanted: number): ApiProblem {
  const [most, all] = [maxWatchedRucs, wanted].map((count) => count.toLocaleString('en-US'));
  return new ApiProblem(
    'limite_excedido',
    `La cuenta admite hasta ${most} RUC distintos y con estos vigilaría ${all}: no se agregó ninguno.`,
  );
}
