import type { Pool } from '../../../../pipelines/runtime/postgres.ts';
import { type CausedEvent, pageNewestEvents } from '../../../../pipelines/watch/history.ts';
import { listWebhooks, type Webhook } from '../../../../pipelines/webhooks/webhooks.ts';
import type { EventPayload } from '../../../../schemas/http/events.ts';
import { number } from '../../formats.ts';
import { Link, Moment, Table } from '../../parts.tsx';
import { eventSentence } from '../words.ts';
import { webhookStateText } from './states.ts';

// The last events and the health of webhooks, on the overview.

const shownEvents = 5;

export interface Recent {
  events: readonly CausedEvent[];
  webhooks: readonly Webhook[];
}

export async function readRecent(pool: Pool, accountId: number): Promise<Recent> {
  const [events, webhooks] = await Promise.all([
    pageNewestEvents(pool, accountId, { before: null }, shownEvents),
    listWebhooks(pool, accountId),
  ]);
  return { events, webhooks };
}

/** Shows nothing to an account that watches nothing. */
export function RecentWatch({ recent: { events, webhooks } }: { recent: Recent }) {
  return (
    <>
      {events.length > 0 && (
        <>
          <h2>Últimos eventos</h2>
          <Table label="Últimos eventos" columns={[{ name: 'Qué cambió' }, { name: 'RUC' }, { name: 'Fecha' }]} stacked>
            {events.map((event) => (
              <EventRow key={event.id} event={event} />
            ))}
          </Table>
          <p>
            <Link to="/consola/eventos">Todos los eventos</Link>
          </p>
        </>
      )}
      {webhooks.length > 0 && (
        <>
          <h2>Webhooks</h2>
          <Table
            label="Webhooks"
            columns={[{ name: 'Destino' }, { name: 'Estado' }, { name: 'Por enviar', isNumber: true }]}
            stacked
          >
            {webhooks.map((webhook) => (
              <tr key={webhook.id}>
                <td class="first wraps">
                  <Link to={`/consola/webhooks/${webhook.id}`}>{webhook.descripcion ?? webhook.url}</Link>
                </td>
                <td>{webhookStateText(webhook)}</td>
                <td class="number">
                  <span class="label">Por enviar </span>
                  {number(webhook.pendientes)}
                </td>
              </tr>
            ))}
          </Table>
        </>
      )}
    </>
  );
}

function EventRow({ event: { payload } }: { event: CausedEvent }) {
  const event = JSON.parse(payload) as EventPayload;
  return (
    <tr>
      <td class="first wraps">{eventSentence(event)}</td>
      <td class="tabular">
        <Link to={`/consola/empresas/${event.datos.ruc}`}>{event.datos.ruc}</Link>
      </td>
      <td>
        <Moment at={new Date(event.ocurrido_en)} />
      </td>
    </tr>
  );
}
