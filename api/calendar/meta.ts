import type { CalendarMeta, ScheduleMeta, YearRange } from '../../schemas/http/calendar.ts';
import { completeDays } from './non-working-days.ts';
import type { CalendarData } from './types.ts';

const days = {
  origen: 'El Peruano - Feriados nacionales y días no laborables',
  atribucion:
    'Feriados: D. Leg. 713 y sus leyes modificatorias. Días no laborables del sector público: decretos supremos ' +
    'publicados en el diario oficial El Peruano. Solo días de alcance nacional.',
};
const schedule = {
  origen: 'SUNAT - Cronograma de obligaciones mensuales',
  atribucion:
    'Cronograma de vencimientos de las obligaciones mensuales de SUNAT, Resolución de Superintendencia ' +
    'N.° 000281-2022/SUNAT, Anexo I.',
  prorrogas:
    'Un decreto de emergencia o una resolución de SUNAT puede prorrogar estas fechas para algunos contribuyentes ' +
    '(por domicilio fiscal o por ingresos). Esas prórrogas no están incluidas.',
};

export interface Metas {
  /** `touched`: first and last day that a public-sector answer depends on; null for the general calendar. */
  ofDays(covers: YearRange, touched: { first: string; last: string } | null): CalendarMeta;
  ofSchedule(covers: YearRange): ScheduleMeta;
}

export function makeMetas({ decrees, updatedAt }: CalendarData): Metas {
  const complete = completeDays(decrees);
  const no_laborables = { ...complete, actualizado_en: updatedAt.decrees };
  return {
    ofDays: (cubre, touched) => ({
      ...days,
      cubre,
      no_laborables,
      provisional: touched !== null && (touched.first < complete.desde || touched.last > complete.hasta),
      actualizado_en: updatedAt.decrees,
    }),
    // No decree moves a due date, so the schedule never depends on those still missing.
    ofSchedule: (cubre) => ({
      ...schedule,
      cubre,
      no_laborables,
      provisional: false,
      actualizado_en: updatedAt.tables,
    }),
  };
}
