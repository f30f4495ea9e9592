import { z } from 'zod';
import { type Digit, digits, type ScheduleAnswer } from '../../../schemas/http/calendar.ts';
import { Filters, Select } from '../fields.tsx';
import { number, shortDay } from '../formats.ts';
import { type Page, type PageRequest, withQuery } from '../page.ts';
import { Table } from '../parts.tsx';
import {
  type CalendarDependencies,
  CalendarViews,
  calendarNow,
  NotCovered,
  Source,
  Subscribe,
} from './calendar-parts.tsx';
import { monthName, weekdayAndDay } from './words.ts';

/** Due dates that are listed for a digit: those of a year. */
const maxDueDates = 12;

/** A whole RUC is refused without being repeated: only its last digit is asked for. */
const query = z.object({
  digito: z.enum(digits, 'Elija un solo dígito, de 0 a 9. El RUC entero no se pide ni se guarda.').optional(),
  grupo: z.enum(['todos', 'buenos'], 'Elija un grupo de la lista.').default('todos'),
});
type Question = z.output<typeof query>;

/** `/calendario`: when monthly taxes are due, for the last digit of a RUC or for all. */
export function makeDueDatesPage(dependencies: CalendarDependencies): Page<PageRequest> {
  return withQuery({
    query,
    show: (request) => ({
      title: 'Calendario tributario',
      status: request.query.values === null ? 422 : 200,
      body: (
        <>
          <h1>Calendario tributario</h1>
          <CalendarViews />
          <Filters filled={request.query}>
            <Select
              name="digito"
              label="Último dígito del RUC"
              hint="Solo el último. Nunca escriba el RUC."
              options={[{ value: '', label: 'Elija uno' }, ...digits.map((digit) => ({ value: digit, label: digit }))]}
            />
            <Select
              name="grupo"
              label="Contribuyente"
              options={[
                { value: 'todos', label: 'En general' },
                { value: 'buenos', label: 'Buen contribuyente o UESP' },
              ]}
            />
            <div class="field">
              <button type="submit">Ver vencimientos</button>
            </div>
          </Filters>
          <Answer {...{ request, dependencies }} />
        </>
      ),
    }),
  });
}

interface AnswerProps {
  request: PageRequest<Question>;
  dependencies: CalendarDependencies;
}

function Answer({ request: { query, origin }, dependencies }: AnswerProps) {
  if (query.values?.digito === undefined) return <WholeYear dependencies={dependencies} />;
  const { digito: digit, grupo } = query.values;
  const goodTaxpayer = grupo === 'buenos';
  return <OfDigit {...{ digit, goodTaxpayer, origin, dependencies }} />;
}

interface OfDigitProps extends Pick<AnswerProps, 'dependencies'> {
  digit: Digit;
  goodTaxpayer: boolean;
  origin: string;
}

function OfDigit({ digit, goodTaxpayer, origin, dependencies }: OfDigitProps) {
  const { calendar, today } = calendarNow(dependencies);
  const answer = calendar.upcoming({ digit, goodTaxpayer, from: today, today }, maxDueDates);
  if (!answer.ok) return <NotCovered covers={answer.covers} />;
  const whose = goodTaxpayer ? 'buenos contribuyentes' : `RUC terminado en ${digit}`;
  const [next] = answer.data;
  return (
    <>
      <h2>Próximos vencimientos, {whose}</h2>
      {next !== undefined && (
        <p class="intro">
          El período {monthName(next.periodo)} vence el {weekdayAndDay(next.vence)}
          {inDays(next.dias_restantes)}.
        </p>
      )}
      <Table
        label="Próximos vencimientos"
        columns={[{ name: 'Período' }, { name: 'Vence' }, { name: 'Faltan', isNumber: true }, { name: 'Fecha' }]}
        stacked
      >
        {answer.data.map(({ periodo, vence, dias_restantes: left, estado }) => (
          <tr key={periodo}>
            <td class="first">
              <span class="capital">{monthName(periodo)}</span>
            </td>
            <td>{weekdayAndDay(vence)}</td>
            <td class="number aside">{left === 0 ? 'hoy' : left === 1 ? '1 día' : `${number(left)} días`}</td>
            <td>{estado === 'publicado' ? 'publicada' : 'calculada con la regla vigente'}</td>
          </tr>
        ))}
      </Table>
      <p class="message">{answer.meta.prorrogas}</p>
      <Source meta={answer.meta} />
      <h2>En su calendario</h2>
      <Subscribe
        feed={`/id/v1/vencimientos.ics?digito=${digit}${goodTaxpayer ? '&buen_contribuyente=true' : ''}`}
        what="estos vencimientos"
        origin={origin}
        sandboxToken={dependencies.sandboxToken}
      />
    </>
  );
}

function inDays(left: number): string {
  if (left === 0) return ': es hoy';
  return left === 1 ? ': falta un día' : `: faltan ${number(left)} días`;
}

type Periods = ScheduleAnswer['periodos'];

/** The authority's columns: digits that share their due dates. */
const groups: readonly { name: string; key: keyof Periods[number]['vencimientos'] }[] = [
  { name: '0', key: '0' },
  { name: '1', key: '1' },
  { name: '2 y 3', key: '2' },
  { name: '4 y 5', key: '4' },
  { name: '6 y 7', key: '6' },
  { name: '8 y 9', key: '8' },
  { name: 'Buenos contribuyentes', key: 'buenos_contribuyentes' },
];

function WholeYear({ dependencies }: Pick<AnswerProps, 'dependencies'>) {
  const { calendar, today } = calendarNow(dependencies);
  const year = Number(today.slice(0, 4));
  const answer = calendar.dueDates(year, today);
  if (!answer.ok) return <NotCovered covers={answer.covers} />;
  return (
    <>
      <h2>Todos los vencimientos de {year}</h2>
      <Table
        label={`Vencimientos de ${year} por último dígito`}
        columns={[{ name: 'Período' }, ...groups.map(({ name }) => ({ name }))]}
      >
        {answer.data.periodos.map(({ periodo, vencimientos }) => (
          <tr key={periodo}>
            <th scope="row">
              <span class="capital">{monthName(periodo).split(' ')[0]}</span>
            </th>
            {groups.map(({ key }) => (
              <td key={key} class={`tabular${vencimientos[key] < today ? ' past' : ''}`}>
                {shortDay(vencimientos[key])}
              </td>
            ))}
          </tr>
        ))}
      </Table>
      <p class="message">{answer.meta.prorrogas}</p>
      <Source meta={answer.meta} />
    </>
  );
}
