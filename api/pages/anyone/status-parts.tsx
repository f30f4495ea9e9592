import type { Incident, StandingName } from '../../../pipelines/editions/standing.ts';
import { oldStatusMs, type Status } from '../../queries/register-status.ts';
import { limaMoment } from '../formats.ts';
import { Link, Moment, Table } from '../parts.tsx';
import { duration, incidentTitle, registerTitle, standingWords } from './words.ts';

// Parts of the pages of the status.

/** Signs that differ in their form, since a colour alone says nothing. */
const signs: Readonly<Record<StandingName, string>> = {
  al_dia: '✓',
  autoridad: '…',
  retenida: '‖',
  nosotros: '!',
  sin_datos: '–',
};

export function StandingBadge({ name }: { name: StandingName }) {
  return (
    <span class={`standing ${name}`}>
      <span aria-hidden="true">{signs[name]}</span> {standingWords[name]}
    </span>
  );
}

/** When the status was read. Warns when that is long ago, because the database does not answer. */
export function StatusAge({ status: { readAt }, now }: { status: Status; now: Date }) {
  if (now.getTime() - readAt.getTime() <= oldStatusMs)
    return (
      <p class="quiet">
        Estado del <Moment at={readAt} />, hora de Lima. Recargue la página para ver el de ahora.
      </p>
    );
  return (
    <p class="message warn" role="status">
      La base de datos no responde. Se muestra lo último que se supo, de hace {duration(readAt, now)} (
      {limaMoment(readAt)}, hora de Lima). Las consultas pueden fallar mientras tanto.
    </p>
  );
}

/** Instead of a status, right after a start without the database. */
export function StatusUnknown() {
  return (
    <>
      <h1>Estado de los datos</h1>
      <p class="message bad" role="alert">
        El estado todavía no se conoce: este proceso acaba de empezar y la base de datos no responde. Vuelva a intentar
        en unos minutos.
      </p>
    </>
  );
}

const columns = [{ name: 'Qué pasó' }, { name: 'Desde' }, { name: 'Hasta' }, { name: 'Duró' }];

interface IncidentsProps {
  incidents: readonly Incident[];
  now: Date;
  /** On the page of one register its name stands above already. */
  withRegister: boolean;
}

export function Incidents({ incidents, now, withRegister }: IncidentsProps) {
  if (incidents.length === 0) return <p>Ninguna en los últimos 90 días.</p>;
  return (
    <Table label="Incidencias" columns={columns} stacked>
      {incidents.map(({ register, kind, from, to, edition }) => (
        <tr key={`${register} ${kind} ${from.getTime()} ${edition}`}>
          <td class="wraps">
            {incidentTitle(kind)}
            {edition !== null && ` (edición ${edition})`}
            {withRegister && (
              <span class="below quiet">
                <Link to={`/estado/${register}`}>{registerTitle(register)}</Link>
              </span>
            )}
          </td>
          <td>
            <span class="label">Desde </span>
            <Moment at={from} />
          </td>
          <td>
            <span class="label">Hasta </span>
            {to === null ? <strong>sigue</strong> : <Moment at={to} />}
          </td>
          <td class="tabular">
            <span class="label">Duró </span>
            {duration(from, to ?? now)}
          </td>
        </tr>
      ))}
    </Table>
  );
}
