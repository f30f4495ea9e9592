import { z } from 'zod';
import { answerOf, day, limaTimestamp, limitParameter, yearRange } from './envelope.ts';
import type { Operations } from './operation.ts';

/** The sector whose business days are counted. For `publico`, the public sector's non-working days do not count. */
export const sectors = ['general', 'publico'] as const;
export type Sector = (typeof sectors)[number];

const dayKinds = ['feriado', 'no_laborable'] as const;
const dueDateStates = ['publicado', 'calculado'] as const;
export type DueDateState = (typeof dueDateStates)[number];

const sector = z.enum(sectors, 'debe ser general o publico').default('general');
const mostDeadlineDays = 1_000;

// Days and digits are plain texts in the query schemas. The handlers check them, because a wrong day or digit has an
// error code of its own.
const deadlineQuery = z.strictObject({
  desde: z.string().meta({ description: 'Día desde el que se cuenta', format: 'date' }),
  dias: z
    .string()
    .regex(/^[0-9]{1,4}$/, `debe ser un número entero de 1 a ${mostDeadlineDays}`)
    .transform(Number)
    .refine((days) => days >= 1 && days <= mostDeadlineDays, `debe ser un número entero de 1 a ${mostDeadlineDays}`),
  sector,
});
const upcomingQuery = z.strictObject({
  digito: z.string('debe ser un dígito de 0 a 9'),
  buen_contribuyente: z
    .enum(['true', 'false'], 'debe ser true o false')
    .default('false')
    .transform((text) => text === 'true'),
  desde: z
    .string()
    .optional()
    .meta({ description: 'Día desde el que se listan; por omisión, hoy en Lima', format: 'date' }),
  limite: limitParameter(24, 12),
});

export type YearRange = z.infer<typeof yearRange>;

const calendarMeta = z.strictObject({
  origen: z.string(),
  atribucion: z.string(),
  /** The years for which this operation has answers. */
  cubre: yearRange,
  /** The period for which decrees of non-working days are loaded, and the time when the loaded decrees last changed. */
  no_laborables: z.strictObject({ desde: day, hasta: day, actualizado_en: limaTimestamp }),
  /**
   * True when the answer depends on a day outside the period `no_laborables`. For such a day no decrees are loaded, and
   * a decree may make the day non-working for the public sector.
   */
  provisional: z.boolean(),
  actualizado_en: limaTimestamp,
});
export type CalendarMeta = z.infer<typeof calendarMeta>;

const scheduleMeta = calendarMeta.extend({
  /** A warning that an emergency decree or a resolution of SUNAT may have moved dates for some taxpayers. */
  prorrogas: z.string(),
});
export type ScheduleMeta = z.infer<typeof scheduleMeta>;

const holiday = z.strictObject({
  fecha: day,
  nombre: z.string(),
  norma: z.string(),
  tipo: z.enum(dayKinds),
  ambito: z.literal('nacional'),
  /** True from Monday to Friday except on holidays. A day of the kind `no_laborable` is a business day for tax. */
  habil_tributario: z.boolean(),
});
export type HolidayAnswer = z.infer<typeof holiday>;
export const holidaysAnswer = answerOf(z.array(holiday), calendarMeta);

const businessDay = z.strictObject({
  fecha: day,
  habil: z.boolean(),
  motivo: z.string().nullable(),
  dia_semana: z.string(),
});
export type BusinessDayAnswer = z.infer<typeof businessDay>;
export const businessDayAnswer = answerOf(businessDay, calendarMeta);

const deadline = z.strictObject({
  desde: day,
  dias: z.int().min(1).max(mostDeadlineDays),
  sector: z.enum(sectors),
  vence: day,
  /** The days between `desde` and `vence` that were not counted, including weekends. */
  saltados: z.array(z.strictObject({ fecha: day, motivo: z.string() })),
});
export type DeadlineAnswer = z.infer<typeof deadline>;
export const deadlineAnswer = answerOf(deadline, calendarMeta);

/** The possible last digits of a RUC. */
export const digits = ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9'] as const;
export type Digit = (typeof digits)[number];
const dueDatesByDigit = z.record(z.enum([...digits, 'buenos_contribuyentes']), day);
const period = z.string().regex(/^\d{4}-(0[1-9]|1[0-2])$/);

const schedule = z.strictObject({
  anio: z.int(),
  periodos: z
    .array(z.strictObject({ periodo: period, estado: z.enum(dueDateStates), vencimientos: dueDatesByDigit }))
    .length(12),
});
export type ScheduleAnswer = z.infer<typeof schedule>;
export const scheduleAnswer = answerOf(schedule, scheduleMeta);

const upcomingDueDate = z.strictObject({
  periodo: period,
  vence: day,
  estado: z.enum(dueDateStates),
  /** Calendar days from the answer's `desde` to `vence`. */
  dias_restantes: z.int().min(0),
});
export type UpcomingDueDate = z.infer<typeof upcomingDueDate>;
const upcomingSummary = z.strictObject({
  digito: z.enum(digits),
  buen_contribuyente: z.boolean(),
  desde: day,
});
export type UpcomingSummary = z.infer<typeof upcomingSummary>;
export const upcomingAnswer = z.strictObject({
  success: z.literal(true),
  resumen: upcomingSummary,
  data: z.array(upcomingDueDate),
  meta: scheduleMeta,
});

const sandboxToken = z.string().optional();

export const calendarOperations = {
  verFeriados: {
    summary: 'Feriados y días no laborables de un año',
    description: 'Solo los nacionales. Los días no laborables son hábiles para los tributos.',
    answer: holidaysAnswer,
  },
  calcularPlazo: {
    summary: 'Vencimiento de un plazo en días hábiles',
    description: 'Se cuenta desde el día siguiente a `desde`. Con `sector=publico` los días no laborables no cuentan.',
    query: deadlineQuery,
    answer: deadlineAnswer,
    problems: ['fecha_invalida'],
  },
  verDia: {
    summary: 'Si un día es hábil, y si no, por qué',
    query: z.strictObject({ sector }),
    answer: businessDayAnswer,
    problems: ['fecha_invalida'],
  },
  verProximosVencimientos: {
    summary: 'Próximos vencimientos para un último dígito',
    description: 'Envíe el último dígito del RUC, nunca el RUC.',
    query: upcomingQuery,
    answer: upcomingAnswer,
    problems: ['fecha_invalida', 'ruc_no_admitido'],
  },
  verVencimientos: {
    summary: 'Cronograma de obligaciones mensuales de un año',
    description: 'Un año publicado por la autoridad es `publicado`; el siguiente se calcula con la regla vigente.',
    answer: scheduleAnswer,
  },
  suscribirFeriados: {
    summary: 'Feriados y días no laborables para un programa de calendario',
    description:
      'iCalendar (RFC 5545), de este año y el siguiente. Los parámetros que agregan los programas no importan.',
    query: z.looseObject({ token: sandboxToken }),
    textType: 'text/calendar',
  },
  suscribirVencimientos: {
    summary: 'Vencimientos de un último dígito para un programa de calendario',
    description:
      'iCalendar (RFC 5545), desde el 1 de enero de este año. Los parámetros que agregan los programas no importan.',
    query: z.looseObject({
      ...upcomingQuery.pick({ digito: true, buen_contribuyente: true }).shape,
      token: sandboxToken,
    }),
    textType: 'text/calendar',
    problems: ['ruc_no_admitido'],
  },
} as const satisfies Operations;
