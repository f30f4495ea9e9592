import {
  type Backlog,
  backlogByWebhook,
  type PausedWebhook,
  pausedWebhooks,
  readBacklog,
  type WebhookBacklog,
} from '../../../../pipelines/webhooks/backlog.ts';
import { listLastRecoveries, type Recovery } from '../../../../pipelines/webhooks/recoveries.ts';
import type { OperatorDependencies } from '../../../operators/dependencies.ts';
import { number } from '../../formats.ts';
import { Facts, Link, Moment, Table } from '../../parts.tsx';
import type { OperatorPage } from '../acting.ts';
import { duration } from '../history.tsx';
import { Empty, Status } from '../words.tsx';

const maxWebhooks = 50;
const maxRecoveries = 30;

/** `/entregas`: what waits to be sent, which endpoints are paused and why, and recoveries. */
export function makeBacklogPage({ pool }: Pick<OperatorDependencies, 'pool'>): OperatorPage {
  return {
    async show() {
      const [backlog, webhooks, paused, recoveries] = await Promise.all([
        readBacklog(pool),
        backlogByWebhook(pool, maxWebhooks),
        pausedWebhooks(pool, maxWebhooks),
        listLastRecoveries(pool, null, maxRecoveries),
      ]);
      return {
        title: 'Entregas',
        body: (
          <>
            <h1>Entregas</h1>
            <Sums backlog={backlog} />
            <h2>Webhooks con entregas por hacer</h2>
            <Webhooks webhooks={webhooks} />
            <h2>En pausa</h2>
            <Paused webhooks={paused} />
            <h2>Recuperaciones</h2>
            <Recoveries recoveries={recoveries} />
          </>
        ),
      };
    },
  };
}

function Sums({ backlog }: { backlog: Backlog }) {
  const { due, oldestDueSeconds, inFlight, waiting, held, webhooksPaused } = backlog;
  return (
    <Facts
      facts={[
        ['Por salir ya', number(due)],
        ['La más antigua espera hace', oldestDueSeconds === null ? '—' : duration(oldestDueSeconds)],
        ['Saliendo', number(inFlight)],
        ['Esperan un reintento', number(waiting)],
        ['Retenidas', `${number(held)} (webhooks en pausa: ${number(webhooksPaused)})`],
      ]}
    />
  );
}

const webhookColumns = [
  { name: 'Webhook' },
  { name: 'Por salir', isNumber: true },
  { name: 'La más antigua', isNumber: true },
  { name: 'Saliendo', isNumber: true },
  { name: 'Reintentos', isNumber: true },
  { name: 'Retenidas', isNumber: true },
  { name: 'Fallos seguidos', isNumber: true },
  { name: 'Estado' },
];

function Webhooks({ webhooks }: { webhooks: readonly WebhookBacklog[] }) {
  if (webhooks.length === 0) return <Empty>Ninguno: todo salió.</Empty>;
  return (
    <Table label="Webhooks con entregas por hacer" columns={webhookColumns} stacked>
      {webhooks.map(({ webhookId, accountId, estado, oldestDueSeconds, ...counts }) => (
        <tr key={webhookId}>
          <td class="first wraps">
            <WebhookLink id={webhookId} />
            <span class="quiet below">
              <Link to={`/clientes/${accountId}`}>cliente {number(accountId)}</Link>
            </span>
          </td>
          <Count name="Por salir" value={counts.due} />
          <td class="number">
            <span class="label">La más antigua </span>
            {oldestDueSeconds === null ? '—' : duration(oldestDueSeconds)}
          </td>
          <Count name="Saliendo" value={counts.inFlight} />
          <Count name="Reintentos" value={counts.waiting} />
          <Count name="Retenidas" value={counts.held} />
          <Count name="Fallos seguidos" value={counts.failuresInARow} />
          <td class="aside">
            <WebhookState isPaused={estado === 'pausado'} />
          </td>
        </tr>
      ))}
    </Table>
  );
}

function Count({ name, value }: { name: string; value: number }) {
  return (
    <td class="number">
      <span class="label">{name} </span>
      {number(value)}
    </td>
  );
}

export function WebhookLink({ id }: { id: string }) {
  return (
    <Link to={`/entregas/${id}`}>
      <code>{id}</code>
    </Link>
  );
}

export function WebhookState({ isPaused }: { isPaused: boolean }) {
  return isPaused ? <Status tone="warn">en pausa</Status> : <Status tone="good">activo</Status>;
}

/** Why a webhook is paused, by the cause that is stored. Null: the plan no longer includes watching. */
export function pauseReason(cause: string | null): string {
  if (cause === null) return 'El plan del cliente ya no incluye vigilancia';
  const reasons: Readonly<Record<string, string>> = {
    fallos: 'Falló demasiadas veces seguidas',
    respuesta_410: 'Respondió 410: pide que no se le envíe más',
    cliente: 'La pidió el cliente',
  };
  return reasons[cause] ?? cause;
}

const pausedColumns = [
  { name: 'Webhook' },
  { name: 'Cliente' },
  { name: 'Por qué' },
  { name: 'Fallos seguidos', isNumber: true },
  { name: 'Primer fallo' },
  { name: 'Retenidas', isNumber: true },
];

function Paused({ webhooks }: { webhooks: readonly PausedWebhook[] }) {
  if (webhooks.length === 0) return <Empty>Ninguno.</Empty>;
  return (
    <Table label="Webhooks en pausa" columns={pausedColumns} stacked>
      {webhooks.map(({ webhookId, accountId, account, pausedBy, failuresInARow, firstFailureAt, held }) => (
        <tr key={webhookId}>
          <td class="first wraps">
            <WebhookLink id={webhookId} />
          </td>
          <td class="wraps">
            <Link to={`/clientes/${accountId}`}>{account}</Link>
          </td>
          <td class="wraps">{pauseReason(pausedBy)}</td>
          <Count name="Fallos seguidos" value={failuresInARow} />
          <td>
            <span class="label">Primer fallo </span>
            {firstFailureAt === null ? '—' : <Moment at={firstFailureAt} />}
          </td>
          <Count name="Retenidas" value={held} />
        </tr>
      ))}
    </Table>
  );
}

const recoveryColumns = [
  { name: 'Webhook' },
  { name: 'Pedida' },
  { name: 'Desde' },
  { name: 'Reenviadas', isNumber: true },
  { name: 'Contadas', isNumber: true },
  { name: 'Estado' },
];

function Recoveries({ recoveries }: { recoveries: readonly Recovery[] }) {
  if (recoveries.length === 0) return <Empty>Ninguna.</Empty>;
  return (
    <Table label="Recuperaciones" columns={recoveryColumns} stacked>
      {recoveries.map(({ id, webhookId, createdAt, from, resent, total, estado }) => (
        <tr key={id}>
          <td class="first wraps">
            <WebhookLink id={webhookId} />
          </td>
          <td>
            <span class="label">Pedida </span>
            <Moment at={createdAt} />
          </td>
          <td>
            <span class="label">Desde </span>
            <Moment at={from} />
          </td>
          <Count name="Reenviadas" value={resent} />
          <Count name="Contadas" value={total} />
          <td class="aside">
            <RecoveryState estado={estado} />
          </td>
        </tr>
      ))}
    </Table>
  );
}

export function RecoveryState({ estado }: Pick<Recovery, 'estado'>) {
  const names = { simulada: 'solo contada', en_curso: 'en curso', terminada: 'terminada', cancelada: 'cancelada' };
  return <Status tone={estado === 'terminada' ? 'good' : 'plain'}>{names[estado]}</Status>;
}
