import { pageNotices, type StoredNotice } from '../../pipelines/webhooks/owner-notices.ts';
import { noticesQuery } from '../../schemas/http/webhooks.ts';
import { limaTime } from '../../schemas/lima-time.ts';
import { answerPrivately } from '../answers.ts';
import { readCursor, writeCursor } from '../input.ts';
import { type ApiRouter, callerOf, parseInput } from '../request.ts';
import type { EventParts } from './events.ts';
import { mayReadWatch } from './watch-access.ts';
import { registerMetaOf } from './watch-meta.ts';

/** GET /id/v1/watch/avisos: what the account is told about its webhooks, newest first. */
export function registerNoticeRoutes(router: ApiRouter, { identify, catalogue, pool }: EventParts): void {
  router.get('/id/v1/watch/avisos', mayReadWatch(identify, pool), async (context) => {
    const { limite, cursor } = parseInput(noticesQuery, context.query);
    const before = cursor === undefined ? null : Number(readCursor('avisos', cursor, ''));
    const notices = await pageNotices(pool, callerOf(context).accountId, before, limite + 1);
    const page = notices.slice(0, limite);
    const next = notices.length > limite ? writeCursor('avisos', page.at(-1)!.id) : null;
    answerPrivately(context, 200, page.map(shownNotice), { ...(await registerMetaOf(catalogue)), cursor: next });
  });
}

function shownNotice({ id, kind, webhookId, detail, at }: StoredNotice) {
  const { primer_fallo_en: since } = detail;
  return {
    id,
    aviso: kind,
    webhook: webhookId,
    ocurrido_en: limaTime(at),
    detalle: { ...detail, ...(typeof since === 'string' ? { primer_fallo_en: limaTime(new Date(since)) } : {}) },
  };
}
