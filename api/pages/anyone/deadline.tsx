import { z } from 'zod';
import { type DeadlineAnswer, sectors } from '../../../schemas/http/calendar.ts';
import type { Calendar } from '../../calendar/calendar.ts';
import { isDay } from '../../calendar/days.ts';
import { Filters, Select, TextField } from '../fields.tsx';
import { number } from '../formats.ts';
import { type Page, type PageRequest, withQuery } from '../page.ts';
import { Table } from '../parts.tsx';
import {
  type CalendarDependencies,
  CalendarViews,
  calendarNow,
  NotCovered,
  Provisional,
  Source,
} from './calendar-parts.tsx';
import { weekdayAndDay } from './words.ts';

const mostDays = 1_000;
const daysText = `Escriba un número entero de 1 a ${mostDays}.`;

const query = z.object({
  desde: z.string().refine(isDay, 'Elija una fecha que exista.').optional(),
  dias: z
    .string()
    .regex(/^[0-9]{1,4}$/, daysText)
    .transform(Number)
    .refine((days) => days >= 1 && days <= mostDays, daysText)
    .optional(),
  sector: z.enum(sectors, 'Elija un sector de la lista.').default('general'),
});
type Question = z.output<typeof query>;

/** `/calendario/plazo`: when a deadline in business days ends, and why each skipped day does not count. */
export function makeDeadlinePage(dependencies: CalendarDependencies): Page<PageRequest> {
  return withQuery({
    query,
    show: (request) => ({
      title: 'Calcular un plazo',
      status: request.query.values === null ? 422 : 200,
      body: (
        <>
          <h1>Calcular un plazo</h1>
          <CalendarViews />
          <p>
            El plazo se cuenta en días hábiles desde el día siguiente al de la notificación. Se muestra cada día que no
            cuenta, con su norma.
          </p>
          <Filters filled={request.query}>
            <TextField name="desde" label="Día de la notificación" type="date" isRequired />
            <TextField name="dias" label="Días hábiles" inputMode="numeric" size={6} maxLength={4} isRequired />
            <Select
              name="sector"
              label="Sector"
              options={[
                { value: 'general', label: 'General' },
                { value: 'publico', label: 'Público, con sus no laborables' },
              ]}
            />
            <div class="field">
              <button type="submit">Calcular</button>
            </div>
          </Filters>
          <Answer question={request.query.values} dependencies={dependencies} />
        </>
      ),
    }),
  });
}

function Answer({ question, dependencies }: { question: Question | null; dependencies: CalendarDependencies }) {
  if (question?.desde === undefined || question.dias === undefined) return null;
  const { calendar } = calendarNow(dependencies);
  const answer = calendar.deadline(question.desde, question.dias, question.sector);
  if (!answer.ok) return <NotCovered covers={answer.covers} />;
  const { data, meta } = answer;
  const skipped = withNorms(data, calendar);
  return (
    <>
      <h2>Vence el {weekdayAndDay(data.vence)}</h2>
      <p>
        {data.dias === 1 ? 'Un día hábil' : `${number(data.dias)} días hábiles`} desde el día siguiente al{' '}
        {weekdayAndDay(data.desde)}. {skippedText(skipped.length)}
      </p>
      <Provisional meta={meta} />
      {skipped.length > 0 && (
        <Table label="Días que no cuentan" columns={[{ name: 'Día' }, { name: 'Por qué' }, { name: 'Norma' }]} stacked>
          {skipped.map(({ fecha, motivo, norma }) => (
            <tr key={fecha}>
              <td>{weekdayAndDay(fecha)}</td>
              <td>
                <span class="capital">{motivo}</span>
              </td>
              <td class="wraps quiet">{norma}</td>
            </tr>
          ))}
        </Table>
      )}
      <Source meta={meta} />
    </>
  );
}

function skippedText(count: number): string {
  if (count === 0) return 'Ningún día se salta.';
  return count === 1 ? 'Un día no cuenta.' : `${number(count)} días no cuentan.`;
}

/** Business days exclude those on which the service does not work. Saturdays and Sundays have no norm of their own. */
export const weekendNorm = 'TUO de la Ley 27444, artículo 145';

/** Gives each skipped day the norm of its holiday or of its decree, and a weekend that of the count itself. */
export function withNorms({ saltados }: DeadlineAnswer, calendar: Pick<Calendar, 'holidaysOf'>) {
  const years = [...new Set(saltados.map(({ fecha }) => Number(fecha.slice(0, 4))))];
  const norms = new Map(
    years.flatMap((year) => {
      const listed = calendar.holidaysOf(year);
      return listed.ok ? listed.data.map(({ fecha, nombre, norma }) => [`${fecha} ${nombre}`, norma] as const) : [];
    }),
  );
  return saltados.map(({ fecha, motivo }) => ({
    fecha,
    motivo,
    // A non-working day that falls on a Saturday is skipped as a Saturday in the general count.
    norma: norms.get(`${fecha} ${motivo}`) ?? weekendNorm,
  }));
}
