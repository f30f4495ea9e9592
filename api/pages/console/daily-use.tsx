import { daysUntil, lastDayOfMonth } from '../../calendar/days.ts';
import { type DayUse, type Forecast, forecastMonth } from '../../metering/daily-use.ts';
import { BarChart } from '../chart.tsx';
import { dayAndMonth, longDay, number, share } from '../formats.ts';
import { Facts, Table } from '../parts.tsx';

// The use per day on the overview: a chart with its table, and what the month will have used.

/** Days that the chart and the table show, today included. */
export const shownDays = 30;

interface Quota {
  limite: number;
  usada: number;
  saldo_prepago: number;
}

export function DailyUse({ days, quota, today }: { days: readonly DayUse[]; quota: Quota; today: string }) {
  if (days.length === 0)
    return <p>Todavía no hay consultas. Aquí aparecerán las de cada día desde la primera que se cobre.</p>;
  const most = Math.max(...days.map(({ units }) => units));
  return (
    <>
      <MonthForecast days={days} quota={quota} today={today} />
      <BarChart
        title="Consultas por día"
        summary={`Consultas por día, del ${longDay(days[0]!.day)} al ${longDay(today)}. Lo más fueron ${number(most)}.`}
        bars={barsUntil(today, days)}
        unit="consultas"
      />
      <details>
        <summary>Ver la tabla de estos días</summary>
        <Table label="Consultas por día" columns={[{ name: 'Día' }, { name: 'Consultas', isNumber: true }]}>
          {[...days].reverse().map(({ day, units }) => (
            <tr key={day}>
              <td>
                {longDay(day)} {day === today && <span class="badge">hoy, hasta ahora</span>}
              </td>
              <td class="number">{number(units)}</td>
            </tr>
          ))}
        </Table>
      </details>
      <p class="quiet">
        Se cuenta lo cobrado, de la cuota del mes y del saldo prepago, por día de Lima. Lo anterior al{' '}
        {longDay(days[0]!.day)} no se muestra.
      </p>
    </>
  );
}

/** A bar for each of the last `shownDays` days, so that a young account has no chart of one wide bar. */
function barsUntil(today: string, days: readonly DayUse[]) {
  const units = new Map(days.map((each) => [each.day, each.units]));
  return daysUntil(today, shownDays).map((day) => ({ name: dayAndMonth(day), value: units.get(day) ?? null }));
}

function MonthForecast({ days, quota, today }: { days: readonly DayUse[]; quota: Quota; today: string }) {
  const ofMonth = days.filter(({ day }) => day.slice(0, 7) === today.slice(0, 7));
  // Days before the count began are missing in the sum, and prepaid units are missing in the month's own count.
  const used = Math.max(
    quota.usada,
    ofMonth.reduce((sum, { units }) => sum + units, 0),
  );
  const available = Math.max(quota.limite, quota.usada) + quota.saldo_prepago;
  const forecast = forecastMonth(days, { used, available, today, lastDay: lastDayOfMonth(today) });
  if (forecast === null)
    return <p class="quiet">El pronóstico del mes aparece después del primer día completo con consultas.</p>;
  return (
    <Facts
      facts={[
        [
          'Pronóstico del mes',
          <>
            <span class="tabular">
              {number(forecast.units)} de {number(quota.limite)}
            </span>{' '}
            ({share(forecast.units, quota.limite)})
            <meter
              min={0}
              max={quota.limite}
              value={Math.min(forecast.units, quota.limite)}
              aria-label="Parte de la cuota que el mes usaría"
            />
          </>,
        ],
        ['Alcanza', <Enough key="enough" forecast={forecast} quota={quota} today={today} />],
        [
          'Se calcula con',
          `el promedio de ${forecast.fromDays === 1 ? '1 día completo' : `${forecast.fromDays} días completos`}`,
        ],
      ]}
    />
  );
}

function Enough({ forecast, quota, today }: { forecast: Forecast; quota: Quota; today: string }) {
  const { units, runsOutOn } = forecast;
  if (runsOutOn !== null)
    return (
      <strong class="bad">
        {runsOutOn === today ? 'No: se agota hoy' : `No: a este ritmo se agota el ${longDay(runsOutOn)}`}
      </strong>
    );
  return <>{units <= quota.limite ? 'Sí, con la cuota del mes' : 'Sí, con parte del saldo prepago'}</>;
}
