import { z } from 'zod';
import {
  businessDayAnswer,
  dayQuery,
  deadlineAnswer,
  deadlineQuery,
  holidaysAnswer,
  scheduleAnswer,
  upcomingAnswer,
  upcomingQuery,
} from '../../../schemas/http/calendar.ts';
import type { Operation } from '../operation.ts';
import { dayParameter, yearParameter } from '../parameters.ts';

const tag = 'Calendario';
const access = 'calendario';
const keeping = 'minute';
const feedType = 'text/calendar';
const publicToken = z.string().optional();

export const calendarOperations = {
  verFeriados: {
    method: 'get',
    path: '/id/v1/calendario/feriados/{anio}',
    tag,
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
    tag,
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
    tag,
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
    tag,
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
    tag,
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
    tag,
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
    tag,
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
