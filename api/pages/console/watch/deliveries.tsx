import { z } from 'zod';
import {
  type LoggedAttempt,
  type LoggedDelivery,
  pageDeliveries,
  readAttempts,
  readBodyOf,
  readDelivery,
} from '../../../../pipelines/webhooks/delivery-log.ts';
import { readWebhook, type Webhook } from '../../../../pipelines/webhooks/webhooks.ts';
import { deliveryStates } from '../../../../schemas/http/events.ts';
import type { EventKind } from '../../../../schemas/registers.ts';
import type { ApiDependencies } from '../../../dependencies.ts';
import { instantAfter, instantFrom, pageOf } from '../../../input.ts';
import { notFound } from '../../../problems.ts';
import { makeDeliveryHandlers, maxShownAttempts, placeKey, readPlace } from '../../../routes/deliveries.ts';
import { requireId, requireWebhook } from '../../../routes/webhooks.ts';
import { Filters, Form, Select, TextField } from '../../fields.tsx';
import { number } from '../../formats.ts';
import { type AccountRequest, accountPageWithQuery, type Filled, form, type Page } from '../../page.ts';
import { Code, Facts, Link, Moment, Table } from '../../parts.tsx';
import { eventKindTexts } from '../words.ts';
import { deliveryStateHelp, deliveryStateTexts, failureText } from './states.ts';

const query = z.strictObject({
  estado: z.enum(deliveryStates).optional(),
  desde: z.iso.date().optional(),
  hasta: z.iso.date().optional(),
  cursor: z.string().optional(),
});
const deliveriesPerPage = 50;

/** `/consola/webhooks/{webhook}/entregas`: a webhook's deliveries, the newest first. */
export function makeDeliveriesPage({ pool }: Pick<ApiDependencies, 'pool'>): Page<AccountRequest> {
  return accountPageWithQuery({
    query,
    async show({ context, params, query: { values, ...filled } }) {
      const { id, url } = await requireWebhook(pool, context, params.webhook ?? '');
      const { estado, desde, hasta, cursor } = values ?? {};
      const wanted = {
        estado,
        from: desde === undefined ? undefined : instantFrom(desde),
        before: hasta === undefined ? undefined : instantAfter(hasta),
        after: readPlace(cursor),
      };
      const found = values === null ? [] : await pageDeliveries(pool, id, wanted, deliveriesPerPage + 1);
      const { page, cursor: next } = pageOf('entregas', found, deliveriesPerPage, placeKey);
      return {
        title: 'Entregas',
        status: values === null ? 422 : 200,
        body: (
          <>
            <p class="path">
              <Link to={`/consola/webhooks/${id}`}>{url}</Link>
            </p>
            <h1>Entregas</h1>
            <DeliveryFilters filled={filled} />
            <Deliveries deliveries={page} />
            {next !== null && (
              <p>
                <Link
                  to={`/consola/webhooks/${id}/entregas?${new URLSearchParams({ ...filled.typed, cursor: next })}`}
                  class="button"
                >
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

function DeliveryFilters({ filled }: { filled: Filled }) {
  return (
    <Filters filled={filled}>
      <Select
        name="estado"
        label="Estado"
        options={[
          { value: '', label: 'Todos' },
          ...deliveryStates.map((state) => ({ value: state, label: deliveryStateTexts[state] })),
        ]}
      />
      <TextField name="desde" label="Creada desde" type="date" />
      <TextField name="hasta" label="Hasta" type="date" />
      <div class="field">
        <button type="submit">Filtrar</button>
      </div>
    </Filters>
  );
}

const columns = [{ name: 'Entrega' }, { name: 'Estado' }, { name: 'Intentos', isNumber: true }, { name: 'Creada' }];

function Deliveries({ deliveries }: { deliveries: readonly LoggedDelivery[] }) {
  if (deliveries.length === 0) return <p>Ninguna entrega con estos filtros.</p>;
  return (
    <Table label="Entregas" columns={columns} stacked>
      {deliveries.map(({ id, evento, estado, attempts, createdAt }) => (
        <tr key={id}>
          <td class="first wraps">
            <Link to={`/consola/entregas/${id}`}>{eventKindTexts[evento as EventKind] ?? evento}</Link>
            <code class="below">{id}</code>
          </td>
          <td>{deliveryStateTexts[estado]}</td>
          <td class="number">
            <span class="label">Intentos </span>
            {number(attempts)}
          </td>
          <td>
            <Moment at={createdAt} />
          </td>
        </tr>
      ))}
    </Table>
  );
}

/** `/consola/entregas/{entrega}`: one delivery with what was sent and what came back. */
export function makeDeliveryPage(dependencies: ApiDependencies): Page<AccountRequest> {
  const { pool } = dependencies;
  const { reenviarEntrega } = makeDeliveryHandlers(dependencies);
  return {
    done: {
      prueba: 'La prueba se envía ahora. La respuesta aparece abajo, en los intentos.',
      reenviada: 'Se envía otra vez, con el mismo id.',
    },
    forms: {
      reenviar: form(z.strictObject({}), async (_, { params, context }: AccountRequest) => {
        const wanted = { params: { entrega: params.entrega ?? '' }, query: undefined, body: {} };
        const { data } = await reenviarEntrega(wanted, context);
        return { to: `/consola/entregas/${data.id}?hecho=reenviada` };
      }),
    },
    async show({ session, params }) {
      const { accountId } = session.caller;
      const delivery = await readDelivery(pool, accountId, requireId(params.entrega ?? '', 'La entrega'));
      if (delivery === null) throw notFound('La entrega');
      const [webhook, attempts, body] = await Promise.all([
        readWebhook(pool, accountId, delivery.webhookId),
        readAttempts(pool, delivery, maxShownAttempts),
        readBodyOf(pool, delivery),
      ]);
      return {
        title: `Entrega ${delivery.id}`,
        scripts: ['live.js'],
        body: (
          <div id="entrega" data-live={isOpen(delivery) ? liveSeconds : undefined}>
            <Delivery delivery={delivery} webhook={webhook} attempts={attempts} body={body} />
          </div>
        ),
      };
    },
  };
}

/** How often a delivery on its way is read again while somebody looks at it. */
const liveSeconds = 3;

function isOpen({ estado }: LoggedDelivery): boolean {
  return estado === 'pendiente' || estado === 'en_curso';
}

interface DeliveryProps {
  delivery: LoggedDelivery;
  /** Null when it was deleted. */
  webhook: Webhook | null;
  attempts: readonly LoggedAttempt[];
  body: string;
}

function Delivery({ delivery, webhook, attempts, body }: DeliveryProps) {
  const { id, evento, estado, createdAt, nextAttemptAt } = delivery;
  return (
    <>
      {webhook !== null && (
        <p class="path">
          <Link to={`/consola/webhooks/${webhook.id}/entregas`}>Entregas de {webhook.url}</Link>
        </p>
      )}
      <h1>{eventKindTexts[evento as EventKind] ?? evento}</h1>
      <Facts
        facts={[
          ['Estado', `${deliveryStateTexts[estado]}. ${deliveryStateHelp[estado]}`],
          ['Id', <code key="id">{id}</code>],
          ['Creada', <Moment key="created" at={createdAt} />],
          ['Próximo intento', nextAttemptAt === null ? 'ninguno previsto' : <Moment key="next" at={nextAttemptAt} />],
        ]}
      />
      {webhook !== null && estado !== 'cancelada' && (
        <Form name="reenviar">
          <button type="submit" class="plain">
            Enviar otra vez
          </button>
        </Form>
      )}
      <h2>Petición</h2>
      <Code label="Petición">{requestText(delivery, webhook, body)}</Code>
      <p class="quiet">
        El momento y la firma son de cada intento. ¿No coincide la firma?{' '}
        <Link to={`/consola/firmas?entrega=${id}`}>Revísela</Link>.
      </p>
      <h2>Intentos</h2>
      <Attempts attempts={attempts} />
    </>
  );
}

function requestText({ id, evento }: LoggedDelivery, webhook: Webhook | null, body: string): string {
  return [
    `POST ${webhook === null ? '(el webhook se borró)' : webhook.url}`,
    'content-type: application/json; charset=utf-8',
    `x-service-event: ${evento}`,
    `x-service-delivery: ${id}`,
    'x-service-timestamp: …',
    'x-service-signature: v1,…',
    '',
    body,
  ].join('\n');
}

function Attempts({ attempts }: { attempts: readonly LoggedAttempt[] }) {
  if (attempts.length === 0) return <p>Todavía ninguno.</p>;
  return (
    <ol class="timeline">
      {[...attempts].reverse().map((attempt) => (
        <li key={attempt.number}>
          <h3>
            Intento {attempt.number} · <Moment at={attempt.startedAt} />
          </h3>
          <p>{outcomeText(attempt)}</p>
          {attempt.response !== null && attempt.response.length > 0 && (
            <Code label={`Respuesta al intento ${attempt.number}`}>
              {`${attempt.response.toString('utf8')}${attempt.responseCut ? '\n…' : ''}`}
            </Code>
          )}
        </li>
      ))}
    </ol>
  );
}

function outcomeText({ httpStatus, failure, durationMs }: LoggedAttempt): string {
  if (failure === null && httpStatus === null) return 'Se está enviando.';
  const took = durationMs === null ? '' : ` Tardó ${number(durationMs)} ms.`;
  const status = httpStatus === null ? '' : ` (HTTP ${httpStatus})`;
  return failure === null ? `Llegó${status}.${took}` : `No llegó: ${failureText(failure)}${status}.${took}`;
}
