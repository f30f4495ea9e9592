import { z } from 'zod';
import { accountAnswer } from '../../schemas/http/account.ts';
import { batchAnswer, batchRequest } from '../../schemas/http/batch.ts';
import {
  businessDayAnswer,
  dayQuery,
  deadlineAnswer,
  deadlineQuery,
  holidaysAnswer,
  scheduleAnswer,
  upcomingAnswer,
  upcomingQuery,
} from '../../schemas/http/calendar.ts';
import { historyAnswer, historyQuery } from '../../schemas/http/history.ts';
import { searchAnswer, searchQuery } from '../../schemas/http/search.ts';
import { supplierAnswer, supplierQuery } from '../../schemas/http/supplier.ts';
import { taxpayerAnswer, taxpayerQuery } from '../../schemas/http/taxpayer.ts';
import {
  checkParameter,
  dayParameter,
  idempotencyHeader,
  type Operation,
  rucParameter,
  yearParameter,
} from './operation.ts';
import { watchOperations } from './routes-watch.ts';
import { deliveryOperations, webhookOperations } from './routes-webhooks.ts';

const accountOperations = {
  verCuenta: {
    method: 'get',
    path: '/id/v1/cuenta',
    tag: 'Cuenta',
    summary: 'Plan, cuota usada, saldo y límites de la cuenta',
    access: 'free',
    status: 200,
    schema: accountAnswer,
    keeping: 'never',
  },
} as const satisfies Readonly<Record<string, Operation>>;

const calendarTag = 'Calendario';
const access = 'calendario';
const keeping = 'minute';
const feedType = 'text/calendar';
const publicToken = z.string().optional();

const calendarOperations = {
  verFeriados: {
    method: 'get',
    path: '/id/v1/calendario/feriados/{anio}',
    tag: calendarTag,
    summary: 'Feriados y días no laborables de un año',
    description: 'Solo los nacionales. Los días no laborables son hábiles para los tributos.',
    access,
    parameters: yearParameter,
    status: 200,
    schema: holidaysAnswer,
    keeping,
    problems: ['anio_no_disponible'],
  },
  calcularPlazo: {
    method: 'get',
    path: '/id/v1/calendario/plazo',
    tag: calendarTag,
    summary: 'Vencimiento de un plazo en días hábiles',
    description: 'Se cuenta desde el día siguiente a `desde`. Con `sector=publico` los días no laborables no cuentan.',
    access,
    query: deadlineQuery,
    status: 200,
    schema: deadlineAnswer,
    keeping,
    problems: ['fecha_invalida', 'anio_no_disponible'],
  },
  verDia: {
    method: 'get',
    path: '/id/v1/calendario/{fecha}',
    tag: calendarTag,
    summary: 'Si un día es hábil, y si no, por qué',
    access,
    parameters: dayParameter,
    query: dayQuery,
    status: 200,
    schema: businessDayAnswer,
    keeping,
    problems: ['fecha_invalida', 'anio_no_disponible'],
  },
  verProximosVencimientos: {
    method: 'get',
    path: '/id/v1/vencimientos/proximos',
    tag: calendarTag,
    summary: 'Próximos vencimientos para un último dígito',
    description: 'Envíe el último dígito del RUC, nunca el RUC.',
    access,
    query: upcomingQuery,
    status: 200,
    schema: upcomingAnswer,
    keeping,
    problems: ['fecha_invalida', 'ruc_no_admitido', 'anio_no_disponible'],
  },
  verVencimientos: {
    method: 'get',
    path: '/id/v1/vencimientos/{anio}',
    tag: calendarTag,
    summary: 'Cronograma de obligaciones mensuales de un año',
    description: 'Un año publicado por la autoridad es `publicado`; el siguiente se calcula con la regla vigente.',
    access,
    parameters: yearParameter,
    status: 200,
    schema: scheduleAnswer,
    keeping,
    problems: ['anio_no_disponible'],
  },
  suscribirFeriados: {
    method: 'get',
    path: '/id/v1/calendario/feriados.ics',
    tag: calendarTag,
    summary: 'Feriados y días no laborables para un programa de calendario',
    description:
      'iCalendar (RFC 5545), de este año y el siguiente. Los parámetros que agregan los programas no importan.',
    access: 'calendario_ics',
    query: z.looseObject({ token: publicToken }),
    status: 200,
    schema: null,
    type: feedType,
    keeping,
    problems: ['anio_no_disponible'],
  },
  suscribirVencimientos: {
    method: 'get',
    path: '/id/v1/vencimientos.ics',
    tag: calendarTag,
    summary: 'Vencimientos de un último dígito para un programa de calendario',
    description:
      'iCalendar (RFC 5545), desde el 1 de enero de este año. Los parámetros que agregan los programas no importan.',
    access: 'calendario_ics',
    query: z.looseObject({
      ...upcomingQuery.pick({ digito: true, buen_contribuyente: true }).shape,
      token: publicToken,
    }),
    status: 200,
    schema: null,
    type: feedType,
    keeping,
    problems: ['ruc_no_admitido', 'anio_no_disponible'],
  },
} as const satisfies Readonly<Record<string, Operation>>;

const taxpayerTag = 'Contribuyentes';
const ofRuc = ['ruc_formato', 'ruc_digito_verificador', 'contrato_requerido', 'ruc_no_encontrado'] as const;

const taxpayerOperations = {
  buscarEmpresas: {
    method: 'get',
    path: '/id/v1/ruc/buscar',
    tag: taxpayerTag,
    summary: 'Busca empresas por su razón social',
    description:
      'Solo empresas (RUC 20). No distingue acentos, signos ni la forma societaria; tolera errores de tipeo cuando lo demás no llena la página. Hasta 1,000 resultados por consulta. Los parámetros `estado`, `condicion` y `ubigeo` filtran.',
    access: 'micro',
    charge: 'Una página con contenido cuenta una consulta; una página vacía, nada.',
    query: searchQuery,
    status: 200,
    schema: searchAnswer,
    keeping: 'revalidated',
    problems: ['padron_no_disponible'],
  },
  consultarRuc: {
    method: 'get',
    path: '/id/v1/ruc/{ruc}',
    tag: taxpayerTag,
    summary: 'El registro de un contribuyente',
    description:
      'Cada campo viene de su propio padrón y `meta` da la fecha de cada uno. Un valor que el padrón no trae es `null`. Con `fecha`, como era ese día. Las personas naturales (RUC 10, 15, 16 y 17) requieren un contrato de tratamiento de datos.',
    access: 'free',
    charge: 'Un registro encontrado cuenta una consulta; uno no encontrado, nada.',
    parameters: rucParameter,
    query: taxpayerQuery,
    status: 200,
    schema: taxpayerAnswer,
    keeping: 'revalidated',
    problems: [...ofRuc, 'fecha_invalida', 'fecha_sin_datos', 'padron_no_disponible'],
  },
  verHistorial: {
    method: 'get',
    path: '/id/v1/ruc/{ruc}/historial',
    tag: taxpayerTag,
    summary: 'Lo que cada publicación cambió de un contribuyente',
    description: 'Lo más reciente primero: qué campo, de qué padrón, en qué fecha, de qué valor a cuál.',
    access: 'micro',
    charge: 'Una página con contenido cuenta una consulta; una página vacía, nada.',
    parameters: rucParameter,
    query: historyQuery,
    status: 200,
    schema: historyAnswer,
    keeping: 'revalidated',
    problems: [...ofRuc, 'padron_no_disponible'],
  },
  consultarLote: {
    method: 'post',
    path: '/id/v1/ruc/batch',
    tag: taxpayerTag,
    summary: 'Hasta 100 registros en una llamada',
    description:
      'Una entrada por cada RUC enviado, en el mismo orden. `encontrado` es `true`, `false` (no figura en la edición indicada) o `null` (no se consultó: `codigo` dice por qué). Los repetidos cuentan una vez.',
    access: 'micro',
    charge: 'Cada RUC distinto encontrado cuenta una consulta. Si el lote no cabe en la cuota, no se consulta nada.',
    headers: idempotencyHeader,
    body: batchRequest,
    status: 200,
    schema: batchAnswer,
    keeping: 'never',
    problems: [
      'limite_excedido',
      'idempotencia_en_curso',
      'idempotencia_otro_cuerpo',
      'padron_no_disponible',
      'contrato_requerido',
    ],
  },
  evaluarProveedor: {
    method: 'get',
    path: '/id/v1/proveedor/{ruc}',
    tag: taxpayerTag,
    summary: 'Evaluación de un proveedor, con constancia',
    description:
      'El registro, las listas de la autoridad tributaria, las inhabilitaciones para contratar con el Estado, si ya lo vigila y advertencias, en una respuesta que se conserva cinco años. Solo empresas. `inhabilitado_al` es el día en que se juzgan las inhabilitaciones (por omisión, hoy).',
    access: 'free',
    charge: 'Un registro encontrado cuenta una consulta; uno no encontrado, nada.',
    parameters: rucParameter,
    query: supplierQuery,
    status: 200,
    schema: supplierAnswer,
    keeping: 'never',
    isGetOnly: true,
    problems: [...ofRuc, 'fecha_invalida', 'solo_empresas', 'padron_no_disponible'],
  },
  verConsultaDeProveedor: {
    method: 'get',
    path: '/id/v1/proveedor/consultas/{consulta_id}',
    tag: taxpayerTag,
    summary: 'Una evaluación ya hecha, tal como se dio',
    description: 'Los mismos bytes, sin costo, a la misma cuenta.',
    access: 'free',
    parameters: checkParameter,
    status: 200,
    schema: supplierAnswer,
    keeping: 'never',
    problems: ['recurso_no_encontrado'],
  },
} as const satisfies Readonly<Record<string, Operation>>;

/** Every route of the public API, by the name of its operation: a route that is not here fails a test. */
export const operations = {
  ...taxpayerOperations,
  ...calendarOperations,
  ...watchOperations,
  ...webhookOperations,
  ...deliveryOperations,
  ...accountOperations,
} as const;

export type Operations = typeof operations;
export type OperationName = keyof Operations;
