import { listWebhooks, type Webhook } from '../../../../pipelines/webhooks/webhooks.ts';
import type { ApiDependencies } from '../../../dependencies.ts';
import { number } from '../../formats.ts';
import type { AccountRequest, Page, View } from '../../page.ts';
import { Code, Link, Moment, Table } from '../../parts.tsx';
import type { ConsoleSession } from '../../sessions/sessions.ts';
import { webhookStateText } from './states.ts';

/** `/consola/webhooks`: the account's webhooks and how each is doing. */
export function makeWebhooksPage({ pool }: Pick<ApiDependencies, 'pool'>): Page<AccountRequest> {
  return {
    done: { borrado: 'El webhook se borró, y lo que tenía pendiente se canceló.' },
    async show({ session }) {
      const webhooks = await listWebhooks(pool, session.caller.accountId);
      return {
        title: 'Webhooks',
        body: (
          <>
            <h1>Webhooks</h1>
            {webhooks.length === 0 ? (
              <p>Todavía no hay ninguno. Un webhook es la dirección de su servidor que recibe los avisos, firmados.</p>
            ) : (
              <Webhooks webhooks={webhooks} />
            )}
            {canCreate(session) && (
              <p>
                <Link to="/consola/webhooks/nuevo" class="button">
                  Crear un webhook
                </Link>
              </p>
            )}
            <p>
              <Link to="/consola/firmas">Revisar una firma que no coincide</Link> ·{' '}
              <Link to="/consola/avisos">Avisos sobre sus webhooks</Link>
            </p>
          </>
        ),
      };
    },
  };
}

/** The form on the other page has the rule; this only leaves the link to it out. */
function canCreate({ capabilities }: ConsoleSession): boolean {
  return capabilities.includes('gestionar_webhooks') && capabilities.includes('ver_secretos');
}

const columns = [
  { name: 'Destino' },
  { name: 'Estado' },
  { name: 'Fallos seguidos', isNumber: true },
  { name: 'Por enviar', isNumber: true },
  { name: 'Última entrega' },
];

function Webhooks({ webhooks }: { webhooks: readonly Webhook[] }) {
  return (
    <Table label="Webhooks" columns={columns} stacked>
      {webhooks.map((webhook) => (
        <tr key={webhook.id}>
          <td class="first wraps">
            <Link to={`/consola/webhooks/${webhook.id}`}>{webhook.url}</Link>
            {webhook.descripcion !== null && <span class="quiet below">{webhook.descripcion}</span>}
          </td>
          <td>{webhookStateText(webhook)}</td>
          <td class="number">
            <span class="label">Fallos seguidos </span>
            {number(webhook.fallos_consecutivos)}
          </td>
          <td class="number">
            <span class="label">Por enviar </span>
            {number(webhook.pendientes)}
          </td>
          <td>
            <span class="label">Última entrega </span>
            {webhook.ultima_entrega_at === null ? 'ninguna' : <Moment at={webhook.ultima_entrega_at} />}
          </td>
        </tr>
      ))}
    </Table>
  );
}

/** Shows a secret that is shown this once. */
export function secretView(id: string, secret: string, title: string): View {
  return {
    title,
    body: (
      <>
        <h1>{title}</h1>
        <p>Este es su secreto. Guárdelo ahora en su servidor: no se vuelve a mostrar.</p>
        <Code label="Secreto">{secret}</Code>
        <p>
          Con él se verifica la firma de cada aviso; <Link to="/docs">la documentación</Link> trae el código.
        </p>
        <p>
          <Link to={`/consola/webhooks/${id}`} class="button">
            Ya lo guardé
          </Link>
        </p>
      </>
    ),
  };
}
