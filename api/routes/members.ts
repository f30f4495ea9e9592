import { addMembers, pageMembers, removeMember } from '../../pipelines/watch/lists.ts';
import { membersQuery, newMembers } from '../../schemas/http/lists.ts';
import { limaTime } from '../../schemas/lima-time.ts';
import { padronReducido } from '../../schemas/registers.ts';
import { answerNothing, answerPrivately } from '../answers.ts';
import { readCursor, writeCursor } from '../input.ts';
import { ApiProblem, maskText, notFound, storeUnavailable } from '../problems.ts';
import type { StoredRow, Taxpayers } from '../queries/look-up.ts';
import { statusOf } from '../queries/record.ts';
import {
  type ApiRouter,
  bodyOf,
  callerOf,
  parseInput,
  readBody,
  refusalOfMember,
  refuseQuery,
  requireCompany,
} from '../request.ts';
import { type ListParts, listIdOf, listsPath, requireList } from './lists.ts';
import { mayReadWatch, mayWatch } from './watch-access.ts';
import { registerMetaOf } from './watch-meta.ts';

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
