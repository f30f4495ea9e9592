import { z } from 'zod';
import { type EndpointState, readEndpoint } from '../../../../pipelines/webhooks/backlog.ts';
import { type LoggedDelivery, pageDeliveries } from '../../../../pipelines/webhooks/delivery-log.ts';
import {
  listLastRecoveries,
  maxRunningRecoveries,
  type RecoverableState,
} from '../../../../pipelines/webhooks/recoveries.ts';
import type { NotResent } from '../../../../pipelines/webhooks/resend.ts';
import { startOfLimaDay } from '../../../../schemas/lima-time.ts';
import { cancelRecoveryBy, recoverBy, resendBy } from '../../../operators/deliveries.ts';
import type { OperatorDependencies } from '../../../operators/dependencies.ts';
import { ApiProblem, notFound } from '../../../problems.ts';
import { Form } from '../../fields.tsx';
import { number } from '../../formats.ts';
import { Facts, Link, Moment, Table } from '../../parts.tsx';
import { decision, mayDecide, type OperatorPage } from '../acting.ts';
import { duration } from '../history.tsx';
import { Empty, Status } from '../words.tsx';
import { pauseReason, WebhookState } from './backlog.tsx';
import { Counted, Recover, Recoveries } from './recovering.tsx';

const maxDeliveries = 30;
const maxRecoveries = 10;
/** What a webhook did not get, as in `padron deliveries recover`. */
const recovered: readonly RecoverableState[] = ['agotada', 'descartada'];

const since = z.strictObject({ desde: z.iso.date('escriba el día como AAAA-MM-DD') });

type Dependencies = Pick<OperatorDependencies, 'pool' | 'wake'>;

async function endpointOf({ pool }: Pick<Dependencies, 'pool'>, id: string | undefined): Promise<EndpointState> {
  const endpoint = await readEndpoint(pool, id ?? '');
  if (endpoint === null) throw notFound('El webhook');
  return endpoint;
}

/** `/entregas/{webhook}`: how one endpoint stands, its last deliveries, and sending again what it did not get. */
export function makeEndpointPage({ pool, wake }: Dependencies): OperatorPage {
  const wanted = (desde: string, isSimulated: boolean) => {
    return { from: startOfLimaDay(desde), before: null, states: recovered, isSimulated };
  };
  return {
    forms: {
      contar: decision(since, async ({ desde }, { params }, actor) => {
        const { webhookId } = await endpointOf({ pool }, params.webhook);
        const counted = await recoverBy(pool, actor, webhookId, wanted(desde, true));
        return {
          title: 'Cuántas se reenviarían',
          body: <Counted {...{ webhookId, desde }} total={counted?.total ?? 0} />,
        };
      }),
      recuperar: decision(since, async ({ desde }, { params }, actor) => {
        const { webhookId, deletedAt } = await endpointOf({ pool }, params.webhook);
        if (deletedAt !== null) throw new ApiProblem('parametro_invalido', 'El webhook está borrado: no recibe nada.');
        const made = await recoverBy(pool, actor, webhookId, wanted(desde, false));
        if (made === null)
          throw new ApiProblem('parametro_invalido', `Ya tiene ${maxRunningRecoveries} recuperaciones en curso.`);
        return { to: `/entregas/${webhookId}?hecho=recupera` };
      }),
      reenviar: decision(z.strictObject({ entrega: z.string().max(200) }), async ({ entrega }, { params }, actor) => {
        const { webhookId } = await endpointOf({ pool }, params.webhook);
        const resent = await resendBy(pool, actor, entrega);
        if (!resent.ok) throw refusalOf(resent);
        if (resent.estado === 'pendiente') await wake(resent.webhookId);
        return { to: `/entregas/${webhookId}?hecho=${resent.estado === 'retenida' ? 'retenida' : 'reenviada'}` };
      }),
      cancelar: decision(z.strictObject({ recuperacion: z.string().max(60) }), async (values, { params }, actor) => {
        const { webhookId } = await endpointOf({ pool }, params.webhook);
        if (!(await cancelRecoveryBy(pool, actor, webhookId, values.recuperacion))) throw notFound('La recuperación');
        return { to: `/entregas/${webhookId}?hecho=cancelada` };
      }),
    },
    done: {
      recupera: 'Se reenvía por partes lo que el webhook no recibió.',
      reenviada: 'La entrega sale ahora, con su mismo número.',
      retenida: 'El webhook está en pausa: la entrega sale cuando el cliente lo reanude.',
      cancelada: 'La recuperación se detuvo. Lo que ya estaba por salir, sale.',
    },
    async show(request) {
      const endpoint = await endpointOf({ pool }, request.params.webhook);
      const { webhookId } = endpoint;
      const [deliveries, recoveries] = await Promise.all([
        pageDeliveries(pool, webhookId, { after: null }, maxDeliveries),
        listLastRecoveries(pool, webhookId, maxRecoveries),
      ]);
      const isOpen = mayDecide(request) && endpoint.deletedAt === null;
      return {
        title: webhookId,
        body: (
          <>
            <p class="path">
              <Link to="/entregas">Entregas</Link>
            </p>
            <h1>{webhookId}</h1>
            <EndpointFacts endpoint={endpoint} />
            <h2>Recuperaciones</h2>
            <Recoveries recoveries={recoveries} isOpen={isOpen} />
            {isOpen && <Recover />}
            <h2>Últimas entregas</h2>
            <Deliveries deliveries={deliveries} isOpen={isOpen} />
          </>
        ),
      };
    },
  };
}

function refusalOf(refused: NotResent): ApiProblem {
  switch (refused.problem) {
    case 'not_found':
      return notFound('La entrega');
    case 'cancelled':
      return new ApiProblem('parametro_invalido', 'La entrega está cancelada: no se envía.');
    case 'taken_back':
      return new ApiProblem(
        'parametro_invalido',
        `La edición ${refused.by.edition} corrigió lo que dice: no se envía.`,
      );
  }
}

function EndpointFacts({ endpoint }: { endpoint: EndpointState }) {
  const { accountId, estado, pausedBy, deletedAt, failuresInARow, firstFailureAt, lastDeliveredAt } = endpoint;
  const { due, oldestDueSeconds, inFlight, waiting, held, rateLimitPerSecond, inFlightLimit } = endpoint;
  const isPaused = estado === 'pausado';
  return (
    <Facts
      facts={[
        [
          'Cliente',
          <Link key="account" to={`/clientes/${accountId}`}>
            {number(accountId)}
          </Link>,
        ],
        ['Estado', deletedAt === null ? <WebhookState key="state" isPaused={isPaused} /> : 'borrado'],
        ...(isPaused ? [['Por qué', pauseReason(pausedBy)] as const] : []),
        [
          'Fallos seguidos',
          firstFailureAt === null ? (
            number(failuresInARow)
          ) : (
            <>
              {number(failuresInARow)}, el primero el <Moment at={firstFailureAt} />
            </>
          ),
        ],
        ['Última entregada', lastDeliveredAt === null ? 'nunca' : <Moment key="last" at={lastDeliveredAt} />],
        [
          'Por salir ya',
          `${number(due)}${oldestDueSeconds === null ? '' : `, la más antigua hace ${duration(oldestDueSeconds)}`}`,
        ],
        ['Saliendo', number(inFlight)],
        ['Esperan un reintento', number(waiting)],
        ['Retenidas', number(held)],
        ['Límites', `${number(rateLimitPerSecond)} por segundo, ${number(inFlightLimit)} a la vez`],
      ]}
    />
  );
}

const deliveryColumns = [
  { name: 'Entrega' },
  { name: 'Hecha' },
  { name: 'Evento' },
  { name: 'Intentos', isNumber: true },
  { name: 'Estado' },
  { name: 'Acción' },
];

interface DeliveriesProps {
  deliveries: readonly LoggedDelivery[];
  isOpen: boolean;
}

function Deliveries({ deliveries, isOpen }: DeliveriesProps) {
  if (deliveries.length === 0) return <Empty>Todavía no hay entregas.</Empty>;
  return (
    <Table label="Últimas entregas" columns={deliveryColumns} stacked>
      {deliveries.map(({ id, createdAt, evento, attempts, estado }) => (
        <tr key={id}>
          <td class="first wraps">
            <code>{id}</code>
          </td>
          <td>
            <Moment at={createdAt} />
          </td>
          <td class="wraps">
            <code>{evento}</code>
          </td>
          <td class="number">
            <span class="label">Intentos </span>
            {number(attempts)}
          </td>
          <td class="aside">
            <Status tone={estado === 'entregada' ? 'good' : estado === 'agotada' ? 'bad' : 'plain'}>{estado}</Status>
          </td>
          <td>
            {isOpen && estado !== 'cancelada' ? (
              <Form name="reenviar" of={{ name: 'entrega', value: id }}>
                <button type="submit" class="plain small">
                  Reenviar
                </button>
              </Form>
            ) : (
              '—'
            )}
          </td>
        </tr>
      ))}
    </Table>
  );
}
