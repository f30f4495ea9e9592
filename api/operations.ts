import { accountOperations as account } from '../schemas/http/account.ts';
import { batchOperations as batch } from '../schemas/http/batch.ts';
import { calendarOperations as calendar } from '../schemas/http/calendar.ts';
import { deliveryOperations as delivery } from '../schemas/http/deliveries.ts';
import { editionOperations as edition } from '../schemas/http/editions.ts';
import { eventOperations as event } from '../schemas/http/events.ts';
import { historyOperations as history } from '../schemas/http/history.ts';
import { listOperations as list } from '../schemas/http/lists.ts';
import type { OperationSchemas } from '../schemas/http/operation.ts';
import { searchOperations as search } from '../schemas/http/search.ts';
import { supplierOperations as supplier } from '../schemas/http/supplier.ts';
import { taxpayerOperations as taxpayer } from '../schemas/http/taxpayer.ts';
import { webhookOperations as webhook } from '../schemas/http/webhooks.ts';

export const tags = ['Contribuyentes', 'Calendario', 'Vigilancia', 'Ediciones', 'Cuenta'] as const;

/**
 * Who may call an operation. A plan's name means accounts of that plan and of higher plans. `_or_lists` adds accounts
 * of lower plans that still have watch lists. The two calendar values mean every plan and the sandbox token;
 * `calendar_feed` also takes the sandbox token in the address.
 */
export type Access =
  | 'free'
  | 'micro'
  | 'crecimiento'
  | 'crecimiento_or_lists'
  | 'empresa'
  | 'calendar'
  | 'calendar_feed';

/** What costs one look-up of the month's quota: a found record, a page with content, or each RUC found in a batch. */
export type Charge = 'record' | 'page' | 'batch';

/** How a client may keep an answer: if it revalidates the ETag before each use, for a minute, or not at all. */
type Caching = 'revalidated' | 'minute' | 'never';

/** One operation of the API. The router, the document, the client and the tests are made from these objects. */
export interface Operation extends OperationSchemas {
  method: 'get' | 'post' | 'patch' | 'delete';
  /** Parameters stand in braces, as in `/id/v1/ruc/{ruc}`. */
  path: `/id/v1/${string}`;
  tag: (typeof tags)[number];
  access: Access;
  /** Omitted for an operation that is free of charge. */
  charge?: Charge;
  /** `never` if omitted. */
  caching?: Caching;
  /** Set when HEAD is refused, because the operation's GET writes something or never ends. */
  isGetOnly?: true;
}

export type ParameterOf<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? Name | ParameterOf<Rest>
  : never;

type Row = Omit<Operation, 'tag'>;

function route<
  const Method extends Row['method'],
  const Path extends Row['path'],
  Schemas extends OperationSchemas,
  const More extends Pick<Row, 'charge' | 'caching' | 'isGetOnly'>,
>(method: Method, path: Path, access: Access, schemas: Schemas, more?: More) {
  return { method, path, access, ...schemas, ...(more as More) };
}

function tagged<Rows extends Record<string, Row>>(tag: Operation['tag'], rows: Rows) {
  const entries = Object.entries(rows).map(([name, row]) => [name, { ...row, tag }]);
  return Object.fromEntries(entries) as { [Name in keyof Rows]: Rows[Name] & Pick<Operation, 'tag'> };
}

const lists = '/id/v1/watch/listas';
const webhooks = '/id/v1/watch/webhooks';
const deliveries = '/id/v1/watch/entregas';
const recoveries = `${webhooks}/{webhook}/recuperaciones` as const;
const perRecord = { charge: 'record', caching: 'revalidated' } as const;
const perPage = { charge: 'page', caching: 'revalidated' } as const;
const aMinute = { caching: 'minute' } as const;

/** All operations of the public API. Their schemas and texts are in schemas/http/, their handlers in api/routes/. */
export const operations = {
  ...tagged('Contribuyentes', {
    buscarEmpresas: route('get', '/id/v1/ruc/buscar', 'micro', search.buscarEmpresas, perPage),
    consultarRuc: route('get', '/id/v1/ruc/{ruc}', 'free', taxpayer.consultarRuc, perRecord),
    verHistorial: route('get', '/id/v1/ruc/{ruc}/historial', 'micro', history.verHistorial, perPage),
    consultarLote: route('post', '/id/v1/ruc/batch', 'micro', batch.consultarLote, { charge: 'batch' }),
    evaluarProveedor: route('get', '/id/v1/proveedor/{ruc}', 'free', supplier.evaluarProveedor, {
      charge: 'record',
      isGetOnly: true,
    }),
    verConsultaDeProveedor: route(
      'get',
      '/id/v1/proveedor/consultas/{consulta_id}',
      'free',
      supplier.verConsultaDeProveedor,
    ),
  }),
  ...tagged('Calendario', {
    verFeriados: route('get', '/id/v1/calendario/feriados/{anio}', 'calendar', calendar.verFeriados, aMinute),
    calcularPlazo: route('get', '/id/v1/calendario/plazo', 'calendar', calendar.calcularPlazo, aMinute),
    verDia: route('get', '/id/v1/calendario/{fecha}', 'calendar', calendar.verDia, aMinute),
    verProximosVencimientos: route(
      'get',
      '/id/v1/vencimientos/proximos',
      'calendar',
      calendar.verProximosVencimientos,
      aMinute,
    ),
    verVencimientos: route('get', '/id/v1/vencimientos/{anio}', 'calendar', calendar.verVencimientos, aMinute),
    suscribirFeriados: route(
      'get',
      '/id/v1/calendario/feriados.ics',
      'calendar_feed',
      calendar.suscribirFeriados,
      aMinute,
    ),
    suscribirVencimientos: route(
      'get',
      '/id/v1/vencimientos.ics',
      'calendar_feed',
      calendar.suscribirVencimientos,
      aMinute,
    ),
  }),
  ...tagged('Vigilancia', {
    crearLista: route('post', lists, 'crecimiento', list.crearLista),
    verListas: route('get', lists, 'crecimiento_or_lists', list.verListas),
    verLista: route('get', `${lists}/{lista}`, 'crecimiento_or_lists', list.verLista),
    cambiarLista: route('patch', `${lists}/{lista}`, 'crecimiento', list.cambiarLista),
    agregarRucs: route('post', `${lists}/{lista}/rucs`, 'crecimiento', list.agregarRucs),
    verRucs: route('get', `${lists}/{lista}/rucs`, 'crecimiento_or_lists', list.verRucs),
    quitarRuc: route('delete', `${lists}/{lista}/rucs/{ruc}`, 'crecimiento', list.quitarRuc),
    borrarLista: route('delete', `${lists}/{lista}`, 'crecimiento', list.borrarLista),
    verEventos: route('get', '/id/v1/watch/eventos', 'crecimiento_or_lists', event.verEventos),
    seguirEventos: route('get', '/id/v1/watch/eventos/stream', 'crecimiento', event.seguirEventos, { isGetOnly: true }),
    crearWebhook: route('post', webhooks, 'crecimiento', webhook.crearWebhook),
    verWebhooks: route('get', webhooks, 'crecimiento_or_lists', webhook.verWebhooks),
    verWebhook: route('get', `${webhooks}/{webhook}`, 'crecimiento_or_lists', webhook.verWebhook),
    cambiarWebhook: route('patch', `${webhooks}/{webhook}`, 'crecimiento', webhook.cambiarWebhook),
    probarWebhook: route('post', `${webhooks}/{webhook}/prueba`, 'crecimiento', webhook.probarWebhook),
    cambiarSecreto: route('post', `${webhooks}/{webhook}/secreto`, 'crecimiento', webhook.cambiarSecreto),
    pausarWebhook: route('post', `${webhooks}/{webhook}/pausar`, 'crecimiento', webhook.pausarWebhook),
    reanudarWebhook: route('post', `${webhooks}/{webhook}/reanudar`, 'crecimiento', webhook.reanudarWebhook),
    borrarWebhook: route('delete', `${webhooks}/{webhook}`, 'crecimiento', webhook.borrarWebhook),
    verEntregas: route('get', `${webhooks}/{webhook}/entregas`, 'crecimiento_or_lists', delivery.verEntregas),
    verEntrega: route('get', `${deliveries}/{entrega}`, 'crecimiento_or_lists', delivery.verEntrega),
    reenviarEntrega: route('post', `${deliveries}/{entrega}/reenviar`, 'crecimiento', delivery.reenviarEntrega),
    crearRecuperacion: route('post', recoveries, 'crecimiento', delivery.crearRecuperacion),
    verRecuperacion: route('get', `${recoveries}/{recuperacion}`, 'crecimiento_or_lists', delivery.verRecuperacion),
    cancelarRecuperacion: route('delete', `${recoveries}/{recuperacion}`, 'crecimiento', delivery.cancelarRecuperacion),
    verAvisos: route('get', '/id/v1/watch/avisos', 'crecimiento_or_lists', webhook.verAvisos),
  }),
  ...tagged('Ediciones', {
    verEdiciones: route('get', '/id/v1/ediciones', 'empresa', edition.verEdiciones),
    descargarCambios: route('get', '/id/v1/ediciones/{registro}/{numero}/cambios', 'empresa', edition.descargarCambios),
  }),
  ...tagged('Cuenta', {
    verCuenta: route('get', '/id/v1/cuenta', 'free', account.verCuenta),
    crearEnlace: route('post', '/id/v1/cuenta/enlaces', 'free', account.crearEnlace),
  }),
};

export type Operations = typeof operations;
export type OperationName = keyof Operations;

/** Returns the HTTP status of a successful answer. */
export function statusOf({ status, answer, textType, fileTypes }: OperationSchemas): number {
  return status ?? ((answer ?? textType ?? fileTypes) ? 200 : 204);
}
