import { type EditionDay, editionDays } from '../../../pipelines/editions/past-figures.ts';
import type { OperatorDependencies } from '../../operators/dependencies.ts';
import { longDay, number } from '../formats.ts';
import { Link, Table } from '../parts.tsx';
import type { OperatorPage } from './acting.ts';
import { Chart } from './chart.tsx';
import { registerIn } from './register.tsx';
import { Empty, registerTitles } from './words.tsx';

/** Three months of a daily register. */
const maxEditions = 90;

/** `/registros/{registro}/historia`: changes, rejected lines and durations, edition by edition. */
export function makeHistoryPage({ pool }: Pick<OperatorDependencies, 'pool'>): OperatorPage {
  return {
    async show({ params }) {
      const register = registerIn(params.registro);
      const days = await editionDays(pool, register, maxEditions);
      return {
        title: `Historia de ${registerTitles[register]}`,
        body: (
          <>
            <p class="path">
              <Link to={`/registros/${register}`}>{registerTitles[register]}</Link>
            </p>
            <h1>Historia</h1>
            {days.length === 0 ? (
              <Empty>Todavía no hay ediciones.</Empty>
            ) : (
              <>
                <Charts days={days} />
                <Days days={days} register={register} />
              </>
            )}
          </>
        ),
      };
    },
  };
}

/** A duration in the unit that fits: 45 s, 12 min, 3.5 h. */
export function duration(seconds: number): string {
  if (seconds < 90) return `${number(Math.round(seconds))} s`;
  if (seconds < 5_400) return `${number(Math.round(seconds / 60))} min`;
  return `${number(Math.round(seconds / 360) / 10)} h`;
}

function Charts({ days }: { days: readonly EditionDay[] }) {
  const figures = [
    // A full edition would make all others invisible.
    { label: 'Cambios por edición', of: (day: EditionDay) => (day.isFull ? null : day.changes), show: number },
    { label: 'Líneas rechazadas por edición', of: (day: EditionDay) => day.rejected, show: number },
    {
      label: 'Desde que se vio la publicación hasta que se sirvió',
      of: (day: EditionDay) => day.servedAfterSeconds,
      show: duration,
    },
  ];
  return (
    <>
      {figures.map(({ label, of, show }) => {
        const points = days.flatMap((day) => {
          const value = of(day);
          return value === null ? [] : [{ name: `edición ${day.number}`, value }];
        });
        if (points.length >= 2 && points.some(({ value }) => value > 0))
          return <Chart key={label} title={label} label={label} points={points} show={show} />;
        return (
          <figure key={label} class="chart">
            <figcaption>{label}</figcaption>
            <Empty>
              {points.length < 2
                ? 'Con dos ediciones o más hay gráfico.'
                : `Ninguna en las últimas ${number(points.length)} ediciones.`}
            </Empty>
          </figure>
        );
      })}
    </>
  );
}

const columns = [
  { name: 'Edición' },
  { name: 'Datos del' },
  { name: 'Cambios', isNumber: true },
  { name: 'Rechazadas', isNumber: true },
  { name: 'Hasta servirse', isNumber: true },
];

function Days({ days, register }: { days: readonly EditionDay[]; register: string }) {
  return (
    <>
      <h2>Las mismas cifras</h2>
      <Table label="Cifras por edición" columns={columns} stacked>
        {days.toReversed().map(({ number: edition, fecha_dato, changes, isFull, rejected, servedAfterSeconds }) => (
          <tr key={edition}>
            <td class="first">
              <Link to={`/ediciones/${register}/${edition}`}>Edición {number(edition)}</Link>
            </td>
            <td class="tabular">{longDay(fecha_dato)}</td>
            <td class="number">
              <span class="label">Cambios </span>
              {number(changes)}
              {isFull && <span class="quiet below">todas las filas</span>}
            </td>
            <td class="number">
              <span class="label">Rechazadas </span>
              {rejected === null ? '—' : number(rejected)}
            </td>
            <td class="number">
              <span class="label">Hasta servirse </span>
              {servedAfterSeconds === null ? 'en camino' : duration(servedAfterSeconds)}
            </td>
          </tr>
        ))}
      </Table>
    </>
  );
}
