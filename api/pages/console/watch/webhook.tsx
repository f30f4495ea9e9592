import { z } from 'zod';
import { type DayOfDeliveries, deliveriesPerDay } from '../../../../pipelines/webhooks/delivery-log.ts';
import { type SigningSecret, signingSecrets, type Webhook } from '../../../../pipelines/webhooks/webhooks.ts';
import { limaDay, limaTime, startOfLimaDay } from '../../../../schemas/lima-time.ts';
import { daysUntil } from '../../../calendar/days.ts';
import type { ApiDependencies } from '../../../dependencies.ts';
import { makeWebhookActionHandlers, makeWebhookHandlers, requireWebhook } from '../../../routes/webhooks.ts';
import { BarChart } from '../../chart.tsx';
import { Form, Select, TextField } from '../../fields.tsx';
import { dayAndMonth, duration, longDay, number, share } from '../../formats.ts';
import { type AccountRequest, form, type Page } from '../../page.ts';
import { Facts, Link, Moment, Table } from '../../parts.tsx';
import { eventKindTexts } from '../words.ts';
import { webhookStateText } from './states.ts';
import { secretView } from './webhooks.tsx';

/** Days of the chart, today included. */
const shownDays = 30;
const graceHours = [0, 1, 24, 72, 168] as const;

/** `/consola/webhooks/{webhook}`: how a webhook is doing, and everything that can be done with it. */
export function makeWebhookPage(dependencies: ApiDependencies): Page<AccountRequest> {
  const { pool, now } = dependencies;
  const { borrarWebhook } = makeWebhookHandlers(dependencies);
  const acts = makeWebhookActionHandlers(dependencies);
  const nothing = z.strictObject({});
  const idOf = ({ params }: AccountRequest) => ({ webhook: params.webhook ?? '' });
  const here = (request: AccountRequest, done: string) => ({
    to: `/consola/webhooks/${request.params.webhook}?hecho=${done}`,
  });
  return {
    done: {
      cambiado: 'El webhook está cambiado.',
      pausado: 'El webhook está en pausa. Los avisos nuevos se guardan.',
      reanudado: 'El webhook volvió a enviar.',
    },
    forms: {
      probar: form(nothing, async (_, request: AccountRequest) => {
        const { data } = await acts.probarWebhook(
          { params: idOf(request), query: undefined, body: {} },
          request.context,
        );
        return { to: `/consola/entregas/${data.entrega}?hecho=prueba` };
      }),
      pausar: form(nothing, async (_, request: AccountRequest) => {
        await acts.pausarWebhook({ params: idOf(request), query: undefined, body: {} }, request.context);
        return here(request, 'pausado');
      }),
      reanudar: form(resumeFields, async (values, request: AccountRequest) => {
        const body = { pendientes: heldOf(values) };
        await acts.reanudarWebhook({ params: idOf(request), query: undefined, body }, request.context);
        return here(request, 'reanudado');
      }),
      rotar: form(rotateFields, async ({ gracia_horas }, request: AccountRequest) => {
        const wanted = { params: idOf(request), query: undefined, body: { gracia_horas } };
        const { data } = await acts.cambiarSecreto(wanted, request.context);
        return secretView(request.params.webhook ?? '', data.secreto, 'El secreto nuevo ya firma');
      }),
      borrar: form(nothing, async (_, request: AccountRequest) => {
        await borrarWebhook({ params: idOf(request), query: undefined, body: undefined }, request.context);
        return { to: '/consola/webhooks?hecho=borrado' };
      }),
    },
    async show({ context, params, session }) {
      const webhook = await requireWebhook(pool, context, params.webhook ?? '');
      const today = limaDay(now());
      const from = daysUntil(today, shownDays)[0]!;
      const [secrets, days] = await Promise.all([
        signingSecrets(pool, webhook.id),
        deliveriesPerDay(pool, webhook.id, from),
      ]);
      return {
        title: webhook.descripcion ?? webhook.url,
        body: (
          <>
            <h1>{webhook.descripcion ?? 'Webhook'}</h1>
            <State webhook={webhook} />
            <p>
              <Link to={`/consola/webhooks/${webhook.id}/entregas`}>Entregas</Link> ·{' '}
              <Link to={`/consola/webhooks/${webhook.id}/recuperaciones`}>Recuperar lo que se perdió</Link>
              {/* The form on the other page has the rule; this only leaves the link to it out. */}
              {session.capabilities.includes('gestionar_webhooks') && (
                <>
                  {' '}
                  · <Link to={`/consola/webhooks/${webhook.id}/cambiar`}>Cambiar dirección, clases o listas</Link>
                </>
              )}
            </p>
            <h2>Salud</h2>
            <Health days={days} from={from} today={today} />
            <h2>Secretos</h2>
            <Secrets secrets={secrets} now={now()} />
            {session.capabilities.some((each) => each !== 'ver' && each !== 'reenviar') && <Acts webhook={webhook} />}
          </>
        ),
      };
    },
  };
}

function State({ webhook }: { webhook: Webhook }) {
  const { url, eventos, listas, fallos_consecutivos, pendientes, ultima_entrega_at } = webhook;
  return (
    <Facts
      facts={[
        ['Destino', url],
        ['Estado', webhookStateText(webhook)],
        ['Clases de evento', eventos === null ? 'Todas' : eventos.map((kind) => eventKindTexts[kind]).join(', ')],
        ['Listas', listas === null ? 'Todas' : number(listas.length)],
        ['Fallos seguidos', number(fallos_consecutivos)],
        ['Por enviar', number(pendientes)],
        ['Última entrega', ultima_entrega_at === null ? 'ninguna' : <Moment key="last" at={ultima_entrega_at} />],
        ['Id', <code key="id">{webhook.id}</code>],
      ]}
    />
  );
}

function Health({ days, from, today }: { days: readonly DayOfDeliveries[]; from: string; today: string }) {
  const delivered = days.reduce((sum, day) => sum + day.delivered, 0);
  const failed = days.reduce((sum, day) => sum + day.failed, 0);
  if (delivered + failed === 0) return <p>No terminó ninguna entrega en los últimos {shownDays} días.</p>;
  const byDay = new Map(days.map((day) => [day.day, day]));
  const all = daysUntil(today, shownDays);
  return (
    <>
      <p>
        {number(delivered)} entregadas y {number(failed)} agotadas en {shownDays} días:{' '}
        {share(delivered, delivered + failed)} llegó.
      </p>
      <BarChart
        title="Entregas que llegaron por día"
        summary={`Entregas que llegaron por día, del ${longDay(from)} al ${longDay(today)}.`}
        bars={all.map((day) => ({ name: dayAndMonth(day), value: byDay.get(day)?.delivered ?? 0 }))}
        unit="entregas"
      />
      <details>
        <summary>Ver la tabla de estos días</summary>
        <Table
          label="Entregas por día"
          columns={[{ name: 'Día' }, { name: 'Entregadas', isNumber: true }, { name: 'Agotadas', isNumber: true }]}
        >
          {[...days].reverse().map((day) => (
            <tr key={day.day}>
              <td>{longDay(day.day)}</td>
              <td class="number">{number(day.delivered)}</td>
              <td class="number">{number(day.failed)}</td>
            </tr>
          ))}
        </Table>
      </details>
    </>
  );
}

function Secrets({ secrets, now }: { secrets: readonly SigningSecret[]; now: Date }) {
  return (
    <ul>
      {secrets.map(({ number: count, createdAt, expiresAt }) => (
        <li key={count}>
          {expiresAt === null ? 'El vigente' : 'El anterior'}, creado el <Moment at={createdAt} />
          {expiresAt !== null && (
            <>
              : firma todavía {duration(expiresAt.getTime() - now.getTime())}, hasta el <Moment at={expiresAt} />
            </>
          )}
        </li>
      ))}
    </ul>
  );
}

const resumeFields = z
  .strictObject({
    pendientes: z.enum(['todos', 'ninguno', 'desde']),
    desde: z.iso.date().optional(),
  })
  .refine(({ pendientes, desde }) => pendientes !== 'desde' || desde !== undefined, {
    path: ['desde'],
    message: 'es obligatorio para enviar desde un día',
  });
const rotateFields = z.strictObject({
  gracia_horas: z.coerce.number().int().min(0).max(168),
});

function heldOf({ pendientes, desde }: z.output<typeof resumeFields>) {
  return pendientes === 'desde' ? { desde: limaTime(startOfLimaDay(desde!)) } : pendientes;
}

function Acts({ webhook: { estado } }: { webhook: Webhook }) {
  return (
    <>
      <h2>Acciones</h2>
      <div class="acts">
        <Form name="probar">
          <p>Envía un aviso de prueba, una vez, también en pausa.</p>
          <button type="submit" class="plain">
            Enviar una prueba
          </button>
        </Form>
        {estado === 'activo' ? (
          <Form name="pausar">
            <p>Deja de enviar y guarda los avisos hasta que lo reanude.</p>
            <button type="submit" class="plain">
              Poner en pausa
            </button>
          </Form>
        ) : (
          <Form name="reanudar">
            <Select
              name="pendientes"
              label="Lo guardado durante la pausa"
              options={[
                { value: 'todos', label: 'Enviarlo todo' },
                { value: 'desde', label: 'Enviar lo creado desde un día' },
                { value: 'ninguno', label: 'Descartarlo' },
              ]}
            />
            <TextField name="desde" label="Desde el día" type="date" />
            <button type="submit">Reanudar</button>
          </Form>
        )}
        <Form name="rotar">
          <Select
            name="gracia_horas"
            label="Cambiar el secreto: el anterior firma todavía"
            value="24"
            options={graceHours.map((hours) => ({
              value: String(hours),
              label: hours === 0 ? 'nada: deja de firmar ya' : hours === 1 ? '1 hora' : `${hours} horas`,
            }))}
          />
          <button type="submit" class="plain">
            Cambiar el secreto
          </button>
        </Form>
        <Form name="borrar">
          <p>Borra el webhook y cancela lo que tiene por enviar. No se puede deshacer.</p>
          <button type="submit" class="plain danger">
            Borrar
          </button>
        </Form>
      </div>
      <p class="quiet">Para cambiar el secreto y para borrar se pide de nuevo el token.</p>
    </>
  );
}
