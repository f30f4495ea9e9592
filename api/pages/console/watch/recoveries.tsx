import { z } from 'zod';
import {
  leftOut,
  listRecoveries,
  type RecoverableState,
  type Recovery,
  readRecovery,
  recoverableStates,
} from '../../../../pipelines/webhooks/recoveries.ts';
import { limaTime, startOfLimaDay } from '../../../../schemas/lima-time.ts';
import type { ApiDependencies } from '../../../dependencies.ts';
import { notFound } from '../../../problems.ts';
import { makeRecoveryHandlers } from '../../../routes/deliveries.ts';
import { requireId, requireWebhook } from '../../../routes/webhooks.ts';
import { Checks, Form, TextField } from '../../fields.tsx';
import { number } from '../../formats.ts';
import { type AccountRequest, form, type Page } from '../../page.ts';
import { Facts, Link, Moment, Table } from '../../parts.tsx';
import { deliveryStateTexts, recoveryStateTexts } from './states.ts';

const one = z.enum(recoverableStates);
const fields = z.strictObject({
  desde: z.iso.date(),
  hora: z
    .string()
    .regex(/^([01][0-9]|2[0-3]):[0-5][0-9]$/, 'debe ser una hora como 09:30')
    .optional(),
  estados: z.preprocess((value) => (typeof value === 'string' ? [value] : value), z.array(one)).optional(),
});
const presetStates: readonly RecoverableState[] = ['agotada', 'descartada'];
const shownRecoveries = 50;
/** How often the progress is read again while somebody looks at it. */
const liveSeconds = 3;

/** `/consola/webhooks/{webhook}/recuperaciones`: counts first what would be sent again, and lists earlier ones. */
export function makeRecoveriesPage(dependencies: ApiDependencies): Page<AccountRequest> {
  const { pool } = dependencies;
  const { crearRecuperacion } = makeRecoveryHandlers(dependencies);
  return {
    forms: {
      contar: form(fields, async ({ desde, hora = '00:00', estados }, { params, context }: AccountRequest) => {
        const since = new Date(startOfLimaDay(desde).getTime() + msOf(hora));
        const body = { desde: limaTime(since), estados: [...(estados ?? presetStates)], simular: true };
        const wanted = { params: { webhook: params.webhook ?? '' }, query: undefined, body };
        const { data } = await crearRecuperacion(wanted, context);
        return { to: `/consola/webhooks/${params.webhook}/recuperaciones/${data.id}` };
      }),
    },
    async show({ context, params }) {
      const { id, url } = await requireWebhook(pool, context, params.webhook ?? '');
      const recoveries = await listRecoveries(pool, id, shownRecoveries);
      return {
        title: 'Recuperar entregas',
        body: (
          <>
            <p class="path">
              <Link to={`/consola/webhooks/${id}`}>{url}</Link>
            </p>
            <h1>Recuperar entregas</h1>
            <p>Vuelve a enviar lo que su servidor se perdió desde un momento. Primero solo se cuenta.</p>
            <Form name="contar">
              <TextField name="desde" label="Desde el día" type="date" isRequired />
              <TextField name="hora" label="Hora de Lima (opcional)" hint="Como 09:30. Por omisión, 00:00." size={6} />
              <Checks
                name="estados"
                label="En estado"
                hint="Sin marcar ninguno, agotadas y descartadas."
                options={recoverableStates.map((state) => ({ value: state, label: deliveryStateTexts[state] }))}
              />
              <button type="submit">Contar</button>
            </Form>
            {recoveries.length > 0 && <Earlier webhook={id} recoveries={recoveries} />}
          </>
        ),
      };
    },
  };
}

function msOf(hour: string): number {
  const [hours, minutes] = hour.split(':').map(Number) as [number, number];
  return (hours * 60 + minutes) * 60_000;
}

const columns = [
  { name: 'Creada' },
  { name: 'Estado' },
  { name: 'Contadas', isNumber: true },
  { name: 'Enviadas', isNumber: true },
];

function Earlier({ webhook, recoveries }: { webhook: string; recoveries: readonly Recovery[] }) {
  return (
    <>
      <h2>Anteriores</h2>
      <Table label="Recuperaciones" columns={columns} stacked>
        {recoveries.map(({ id, createdAt, estado, total, resent }) => (
          <tr key={id}>
            <td class="first">
              <Link to={`/consola/webhooks/${webhook}/recuperaciones/${id}`}>
                <Moment at={createdAt} />
              </Link>
            </td>
            <td>{recoveryStateTexts[estado]}</td>
            <td class="number">
              <span class="label">Contadas </span>
              {number(total)}
            </td>
            <td class="number">
              <span class="label">Enviadas </span>
              {number(resent)}
            </td>
          </tr>
        ))}
      </Table>
    </>
  );
}

/** `/consola/webhooks/{webhook}/recuperaciones/{recuperacion}`: what was counted, how far it is, and its end. */
export function makeRecoveryPage(dependencies: ApiDependencies): Page<AccountRequest> {
  const { pool } = dependencies;
  const { crearRecuperacion, cancelarRecuperacion } = makeRecoveryHandlers(dependencies);
  const read = async ({ context, params }: AccountRequest) => {
    const webhook = await requireWebhook(pool, context, params.webhook ?? '');
    const id = requireId(params.recuperacion ?? '', 'La recuperación');
    const recovery = await readRecovery(pool, webhook.id, id);
    if (recovery === null) throw notFound('La recuperación');
    return { webhook, recovery };
  };
  const pathOf = (webhook: string, id: string) => `/consola/webhooks/${webhook}/recuperaciones/${id}`;
  return {
    done: {
      empezada: 'La recuperación empezó.',
      cancelada: 'La recuperación se canceló. Lo que ya estaba en cola se envía.',
    },
    forms: {
      empezar: form(z.strictObject({}), async (_, request: AccountRequest) => {
        const { webhook, recovery } = await read(request);
        // The count stays as it is. What is sent is a recovery of its own, up to the same moment.
        const body = {
          desde: limaTime(recovery.from),
          hasta: limaTime(recovery.until),
          estados: recovery.states,
          simular: false,
        };
        const wanted = { params: { webhook: webhook.id }, query: undefined, body };
        const { data } = await crearRecuperacion(wanted, request.context);
        return { to: `${pathOf(webhook.id, data.id)}?hecho=empezada` };
      }),
      cancelar: form(z.strictObject({}), async (_, request: AccountRequest) => {
        const { webhook = '', recuperacion = '' } = request.params;
        const wanted = { params: { webhook, recuperacion }, query: undefined, body: undefined };
        await cancelarRecuperacion(wanted, request.context);
        return { to: `${pathOf(webhook, recuperacion)}?hecho=cancelada` };
      }),
    },
    async show(request) {
      const { webhook, recovery } = await read(request);
      return {
        title: 'Recuperación',
        scripts: ['live.js'],
        body: (
          <>
            <p class="path">
              <Link to={`/consola/webhooks/${webhook.id}/recuperaciones`}>Recuperaciones de {webhook.url}</Link>
            </p>
            <h1>{recovery.estado === 'simulada' ? wouldSend(recovery.total) : 'Recuperación'}</h1>
            <div id="avance" data-live={recovery.estado === 'en_curso' ? liveSeconds : undefined}>
              <Progress recovery={recovery} />
            </div>
          </>
        ),
      };
    },
  };
}

function Progress({ recovery }: { recovery: Recovery }) {
  const { estado, from, until, states, total, resent, finishedAt } = recovery;
  const isCount = estado === 'simulada';
  return (
    <>
      <Facts
        facts={[
          ['Estado', recoveryStateTexts[estado]],
          ['Creadas desde', <Moment key="from" at={from} />],
          ['Hasta', <Moment key="until" at={until} />],
          ['En estado', states.map((state) => deliveryStateTexts[state]).join(', ')],
          ['Contadas', number(total)],
          ...(isCount
            ? []
            : ([
                [
                  'Puestas en cola',
                  <>
                    {number(resent)}
                    <meter
                      min={0}
                      max={Math.max(1, total)}
                      value={Math.min(resent, total)}
                      aria-label="Parte en cola"
                    />
                  </>,
                ],
                ['Omitidas', estado === 'terminada' ? number(leftOut(recovery)) : 'se sabe al final'],
                ['Terminó', finishedAt === null ? 'todavía no' : <Moment key="end" at={finishedAt} />],
              ] as const)),
        ]}
      />
      {isCount && total > 0 && (
        <Form name="empezar">
          <button type="submit">Enviarlas otra vez</button>
        </Form>
      )}
      {isCount && total === 0 && <p>No hay nada que recuperar con estas condiciones.</p>}
      {estado === 'en_curso' && (
        <Form name="cancelar">
          <button type="submit" class="plain danger">
            Cancelar
          </button>
        </Form>
      )}
    </>
  );
}

function wouldSend(count: number): string {
  return count === 1 ? 'Se enviaría 1 entrega' : `Se enviarían ${number(count)} entregas`;
}
