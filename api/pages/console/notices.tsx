import { z } from 'zod';
import {
  type OwnerNotice,
  pageOwnerNotices,
  type StoredOwnerNotice,
} from '../../../pipelines/webhooks/owner-notices.ts';
import { listWebhooks } from '../../../pipelines/webhooks/webhooks.ts';
import type { ApiDependencies } from '../../dependencies.ts';
import { pageOf, readCursor } from '../../input.ts';
import { number } from '../formats.ts';
import { type AccountRequest, accountPageWithQuery, type Page } from '../page.ts';
import { Link, Moment, Table } from '../parts.tsx';
import { noticeTexts } from './watch/states.ts';

const query = z.strictObject({ cursor: z.string().optional() });
const noticesPerPage = 50;

/** `/consola/avisos`: what happened to the account's webhooks, as in the mails to their owner. */
export function makeNoticesPage({ pool }: Pick<ApiDependencies, 'pool'>): Page<AccountRequest> {
  return accountPageWithQuery({
    query,
    async show({ session, query: { values } }) {
      const { accountId } = session.caller;
      const cursor = values?.cursor;
      const before = cursor === undefined ? null : Number(readCursor('avisos', cursor, ''));
      const [found, webhooks] = await Promise.all([
        pageOwnerNotices(pool, accountId, before, noticesPerPage + 1),
        listWebhooks(pool, accountId),
      ]);
      const { page, cursor: next } = pageOf('avisos', found, noticesPerPage, ({ id }) => id);
      const urls = new Map(webhooks.map(({ id, url }) => [id, url]));
      return {
        title: 'Avisos sobre sus webhooks',
        body: (
          <>
            <h1>Avisos sobre sus webhooks</h1>
            <Notices notices={page} urls={urls} />
            {next !== null && (
              <p>
                <Link to={`/consola/avisos?${new URLSearchParams({ cursor: next })}`} class="button">
                  Ver lo anterior
                </Link>
              </p>
            )}
          </>
        ),
      };
    },
  });
}

const columns = [{ name: 'Webhook' }, { name: 'Qué pasó' }, { name: 'Cuándo' }];

interface NoticesProps {
  notices: readonly StoredOwnerNotice[];
  /** The addresses of the webhooks that still exist, by their ids. */
  urls: ReadonlyMap<string, string>;
}

function Notices({ notices, urls }: NoticesProps) {
  if (notices.length === 0) return <p>Ninguno. Aparecen cuando un webhook está por pausarse, se pausa o se reanuda.</p>;
  return (
    <Table label="Avisos" columns={columns} stacked>
      {notices.map(({ id, webhookId, kind, detail, at }) => (
        <tr key={id}>
          <td class="first wraps">
            {urls.has(webhookId) ? (
              <Link to={`/consola/webhooks/${webhookId}`}>{urls.get(webhookId)!}</Link>
            ) : (
              'Un webhook que se borró'
            )}
          </td>
          <td class="wraps">
            {noticeTexts[kind]}
            <span class="quiet below">{detailText({ kind, detail } as OwnerNotice)}</span>
          </td>
          <td>
            <Moment at={at} />
          </td>
        </tr>
      ))}
    </Table>
  );
}

const causes = {
  fallos: 'Su servidor falló demasiado.',
  respuesta_410: 'Su servidor contestó 410.',
  cliente: 'Lo pidió usted.',
  plan: 'El plan de la cuenta no incluye avisos.',
} as const;

function detailText(notice: OwnerNotice): string {
  switch (notice.kind) {
    case 'webhook.por_pausar':
      return `${number(notice.detail.fallos_consecutivos)} fallos seguidos, ${notice.detail.porcentaje} % del camino a la pausa.`;
    case 'webhook.pausado':
      return causes[notice.detail.causa];
    case 'webhook.reanudado':
      return notice.detail.liberadas === 0
        ? 'No había avisos guardados.'
        : `Avisos guardados que se enviaron: ${number(notice.detail.liberadas)}.`;
  }
}
