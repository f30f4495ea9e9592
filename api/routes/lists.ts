import type { Pool } from '../../pipelines/runtime/postgres.ts';
import {
  createList,
  deleteList,
  type ListProblem,
  pageLists,
  readList,
  updateList,
  type WatchList,
} from '../../pipelines/watch/lists.ts';
import { listPatch, listsQuery, newList } from '../../schemas/http/lists.ts';
import { limaTime } from '../../schemas/lima-time.ts';
import type { Identify } from '../accounts/callers.ts';
import { answerNothing, answerPrivately } from '../answers.ts';
import type { Catalogue } from '../catalogue.ts';
import { readCursor, writeCursor } from '../input.ts';
import { ApiProblem, notFound } from '../problems.ts';
import { type ApiContext, type ApiRouter, bodyOf, callerOf, parseInput, readBody, refuseQuery } from '../request.ts';
import { mayReadWatch, mayWatch } from './watch-access.ts';
import { registerMetaOf } from './watch-meta.ts';

export const maxLists = 1_000;
export const listsPath = '/id/v1/watch/listas';

export interface ListParts {
  identify: Identify;
  catalogue: Catalogue;
  pool: Pool;
}

/** Watch lists of the caller's account. Another account's list does not exist for it. */
export function registerListRoutes(router: ApiRouter, { identify, catalogue, pool }: ListParts): void {
  const watches = mayWatch(identify);
  const reads = mayReadWatch(identify, pool);

  router.post(listsPath, watches, readBody, async (context) => {
    refuseQuery(context);
    const { nombre, referencia } = bodyOf(context, newList);
    const wanted = { nombre, referencia: referencia ?? null };
    const meta = await registerMetaOf(catalogue);
    const result = await createList(pool, callerOf(context).accountId, wanted, maxLists);
    if (!result.ok) throw listProblem(result, nombre);
    context.set('Location', `${listsPath}/${result.list.id}`);
    answerPrivately(context, 201, shownList(result.list), meta);
  });

  router.get(listsPath, reads, async (context) => {
    const { limite, cursor } = parseInput(listsQuery, context.query);
    const after = Number(readCursor('listas', cursor, '0'));
    const lists = await pageLists(pool, callerOf(context).accountId, after, limite + 1);
    const page = lists.slice(0, limite);
    const meta = await registerMetaOf(catalogue);
    const next = lists.length > limite ? writeCursor('listas', page.at(-1)!.id) : null;
    answerPrivately(context, 200, page.map(shownList), { ...meta, cursor: next });
  });

  router.get(`${listsPath}/:lista`, reads, async (context) => {
    refuseQuery(context);
    const list = await requireList(pool, context);
    answerPrivately(context, 200, shownList(list), await registerMetaOf(catalogue));
  });

  router.patch(`${listsPath}/:lista`, watches, readBody, async (context) => {
    refuseQuery(context);
    const patch = bodyOf(context, listPatch);
    const meta = await registerMetaOf(catalogue);
    const result = await updateList(pool, callerOf(context).accountId, listIdOf(context), patch);
    if (!result.ok) throw listProblem(result, patch.nombre ?? '');
    answerPrivately(context, 200, shownList(result.list), meta);
  });

  router.delete(`${listsPath}/:lista`, watches, async (context) => {
    refuseQuery(context);
    if (!(await deleteList(pool, callerOf(context).accountId, listIdOf(context)))) throw notFound('La lista');
    answerNothing(context);
  });
}

/** @throws ApiProblem recurso_no_encontrado: not there, or another account's */
export async function requireList(pool: Pool, context: ApiContext): Promise<WatchList> {
  const list = await readList(pool, callerOf(context).accountId, listIdOf(context));
  if (list === null) throw notFound('La lista');
  return list;
}

/** @throws ApiProblem recurso_no_encontrado: what is no number is no list */
export function listIdOf(context: ApiContext): number {
  const text = context.params.lista ?? '';
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
