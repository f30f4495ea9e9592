import type { Pool } from '../../pipelines/runtime/postgres.ts';
import {
  addMembers,
  createList,
  deleteList,
  type ListProblem,
  pageLists,
  pageMembers,
  readList,
  removeMember,
  updateList,
  type WatchList,
} from '../../pipelines/watch/lists.ts';
import { listPatch, listsQuery, membersQuery, newList, newMembers } from '../../schemas/http/lists.ts';
import { limaTime } from '../../schemas/lima-time.ts';
import { padronReducido } from '../../schemas/registers.ts';
import type { Identify } from '../accounts/callers.ts';
import { answerNothing, answerPrivately } from '../answers.ts';
import type { Catalogue } from '../catalogue.ts';
import { readCursor, writeCursor } from '../input.ts';
import { ApiProblem, maskText, notFound, storeUnavailable } from '../problems.ts';
import type { StoredRow, Taxpayers } from '../queries/look-up.ts';
import { statusOf } from '../queries/record.ts';
import {
  type ApiContext,
  type ApiRouter,
  bodyOf,
  callerOf,
  parseInput,
  readBody,
  refusalOfMember,
  refuseQuery,
  requireCompany,
} from '../request.ts';
import { mayReadWatch, mayWatch, registerMetaOf } from './access.ts';

export const maxLists = 1_000;
const listsPath = '/id/v1/watch/listas';

interface ListParts {
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
async function requireList(pool: Pool, context: ApiContext): Promise<WatchList> {
  const list = await readList(pool, callerOf(context).accountId, listIdOf(context));
  if (list === null) throw notFound('La lista');
  return list;
}

/** @throws ApiProblem recurso_no_encontrado: what is no number is no list */
function listIdOf(context: ApiContext): number {
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

export interface MemberParts extends ListParts {
  taxpayers: Taxpayers;
}

export const maxWatchedRucs = 100_000;
const path = `${listsPath}/:lista/rucs`;

/** The RUCs of a list: companies only, also those that the register does not hold yet. */
export function registerMemberRoutes(router: ApiRouter, parts: MemberParts): void {
  const { catalogue, pool, taxpayers } = parts;
  const watches = mayWatch(parts.identify);
  const reads = mayReadWatch(parts.identify, pool);

  router.post(path, watches, readBody, async (context) => {
    refuseQuery(context);
    const body = bodyOf(context, newMembers);
    // A single RUC is refused as a whole request, one of many as an entry of the answer.
    const wanted = 'ruc' in body ? [requireCompany(body.ruc)] : [...new Set(body.rucs)];
    const judged = wanted.map((ruc) => ({ ruc, codigo: refusalOfMember(ruc) }));
    const companies = judged.filter(({ codigo }) => codigo === null).map(({ ruc }) => ruc);
    const meta = await registerMetaOf(catalogue);
    const result = await addMembers(pool, callerOf(context).accountId, listIdOf(context), companies, maxWatchedRucs);
    if (!result.ok) throw result.problem === 'not_found' ? notFound('La lista') : tooMany(result.wanted);
    const isHeld = await makeIsHeld(taxpayers, result.added, meta.fecha_dato !== null);
    const data = {
      agregados: result.added.map((ruc) => ({ ruc, en_padron: isHeld(ruc) })),
      ya_estaban: result.present,
      rechazados: judged
        .filter(({ codigo }) => codigo !== null)
        .map(({ ruc, codigo }) => ({ ruc: maskText(ruc), codigo })),
    };
    answerPrivately(context, 200, data, meta);
  });

  router.get(path, reads, async (context) => {
    const { limite, cursor } = parseInput(membersQuery, context.query);
    const after = readCursor('miembros', cursor, '');
    const list = await requireList(pool, context);
    const meta = await registerMetaOf(catalogue);
    const members = await pageMembers(pool, list.id, after, limite + 1);
    const page = members.slice(0, limite);
    const rows = await taxpayers
      .findMany(page.map(({ ruc }) => ruc))
      .catch((error: unknown) => Promise.reject(storeUnavailable(error)));
    const data = page.map(({ ruc, added_at }, index) => {
      const row = dailyRow(rows[index]!);
      const status = row === undefined ? { estado: null, condicion: null } : statusOf(row.cells);
      return { ruc, agregado_en: limaTime(added_at), ...status };
    });
    const next = members.length > limite ? writeCursor('miembros', page.at(-1)!.ruc) : null;
    answerPrivately(context, 200, data, { ...meta, cursor: next });
  });

  router.delete(`${path}/:ruc`, watches, async (context) => {
    refuseQuery(context);
    const ruc = requireCompany(context.params.ruc ?? '');
    const list = await requireList(pool, context);
    await removeMember(pool, list.id, ruc);
    answerNothing(context);
  });
}

/**
 * Whether the register holds each RUC that was added. They are in the list by now, so a store that does not answer, or a
 * register that was never loaded, makes this one field unknown (null) and not the request fail.
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
