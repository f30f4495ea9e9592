import { z } from 'zod';
import type { HolidayAnswer } from '../../../schemas/http/calendar.ts';
import { Filters, TextField } from '../fields.tsx';
import { type Page, type PageRequest, withQuery } from '../page.ts';
import { Table } from '../parts.tsx';
import {
  type CalendarDependencies,
  CalendarViews,
  calendarNow,
  NotCovered,
  Provisional,
  Source,
  Subscribe,
} from './calendar-parts.tsx';
import { weekdayAndDay } from './words.ts';

const query = z.object({
  anio: z
    .string()
    .regex(/^[0-9]{4}$/, 'Escriba un año de cuatro cifras.')
    .transform(Number)
    .optional(),
});

/** `/calendario/feriados`: the holidays and non-working days of a year, each with its norm. */
export function makeHolidaysPage(dependencies: CalendarDependencies): Page<PageRequest> {
  return withQuery({
    query,
    show: (request) => {
      const { today } = calendarNow(dependencies);
      const year = request.query.values?.anio ?? Number(today.slice(0, 4));
      return {
        title: `Feriados de ${year}`,
        status: request.query.values === null ? 422 : 200,
        body: (
          <>
            <h1>Feriados y días no laborables</h1>
            <CalendarViews />
            <Filters filled={request.query}>
              <TextField
                name="anio"
                label="Año"
                value={String(year)}
                inputMode="numeric"
                size={6}
                maxLength={4}
                isRequired
              />
              <div class="field">
                <button type="submit">Ver</button>
              </div>
            </Filters>
            {request.query.values !== null && <Year year={year} dependencies={dependencies} />}
            <h2>En su calendario</h2>
            <Subscribe
              feed="/id/v1/calendario/feriados.ics"
              what="los feriados"
              origin={request.origin}
              sandboxToken={dependencies.sandboxToken}
            />
          </>
        ),
      };
    },
  });
}

const columns = [{ name: 'Día' }, { name: 'Motivo' }, { name: 'Para quién' }, { name: 'Norma' }];

const kinds: Readonly<Record<HolidayAnswer['tipo'], string>> = {
  feriado: 'Todos: es feriado',
  no_laborable: 'Solo el sector público',
};

function Year({ year, dependencies }: { year: number; dependencies: CalendarDependencies }) {
  const answer = calendarNow(dependencies).calendar.holidaysOf(year);
  if (!answer.ok) return <NotCovered covers={answer.covers} />;
  return (
    <>
      <h2>{year}</h2>
      <Provisional meta={answer.meta} />
      <Table label={`Feriados y días no laborables de ${year}`} columns={columns} stacked>
        {answer.data.map(({ fecha, nombre, tipo, norma }) => (
          <tr key={`${fecha} ${tipo}`}>
            <td>{weekdayAndDay(fecha)}</td>
            <td>{nombre}</td>
            <td>{kinds[tipo]}</td>
            <td class="wraps quiet">{norma}</td>
          </tr>
        ))}
      </Table>
      <p class="quiet">
        Un día no laborable del sector público es hábil para los tributos: ningún vencimiento se mueve.
      </p>
      <Source meta={answer.meta} />
    </>
  );
}
