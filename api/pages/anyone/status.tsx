import { standings } from '../../../pipelines/editions/standing.ts';
import { limaDay } from '../../../schemas/lima-time.ts';
import type { ApiDependencies } from '../../dependencies.ts';
import { ApiProblem } from '../../problems.ts';
import { allIncidents, type RegisterStatus, type ServedNow, type Status } from '../../queries/register-status.ts';
import { limaMoment, number, shortDay } from '../formats.ts';
import type { Page, PageRequest, View } from '../page.ts';
import { Facts, Link, Moment, Table } from '../parts.tsx';
import { Incidents, StandingBadge, StatusAge, StatusUnknown } from './status-parts.tsx';
import {
  expectedWords,
  limaClock,
  registerTitle,
  standingMeanings,
  standingSentence,
  standingWords,
  webcalOf,
} from './words.ts';

export type StatusDependencies = Pick<ApiDependencies, 'readStatus' | 'now'>;

/** Most incidents on the page of all registers. The page of a register has all of its own. */
const maxIncidents = 20;

/** `/estado`: how fresh each register is and who is behind if it is not. */
export function makeStatusPage(dependencies: StatusDependencies): Page<PageRequest> {
  return {
    show: ({ origin }) =>
      withStatus(dependencies, (status, now) => ({
        title: 'Estado de los datos',
        feed: { title: 'Padrón: estado de los datos', path: '/estado.atom' },
        body: <Overview {...{ status, now, origin }} />,
      })),
  };
}

/** Shows the last known status. Before the first one is read, the page says so. */
export async function withStatus(
  { readStatus, now }: StatusDependencies,
  view: (status: Status, now: Date) => View,
): Promise<View> {
  try {
    return view(await readStatus(), now());
  } catch (error) {
    if (!(error instanceof ApiProblem) || error.code !== 'servicio_no_disponible') throw error;
    return { title: 'Estado de los datos', status: 503, body: <StatusUnknown /> };
  }
}

function Overview({ status, now, origin }: { status: Status; now: Date; origin: string }) {
  const incidents = allIncidents(status);
  return (
    <>
      <h1>Estado de los datos</h1>
      <p class="intro">{summaryOf(status)}</p>
      <StatusAge status={status} now={now} />
      <Registers registers={status.registers} now={now} />
      <p class="quiet">
        Cuándo se espera la próxima publicación se calcula de las publicaciones anteriores; ninguna autoridad promete
        una hora.
      </p>
      <h2>Incidencias de los últimos 90 días</h2>
      <Incidents incidents={incidents.slice(0, maxIncidents)} now={now} withRegister />
      {incidents.length > maxIncidents && (
        <p class="quiet">
          Se muestran las {maxIncidents} más recientes. La página de cada registro tiene todas las suyas.
        </p>
      )}
      <h2>Qué significa cada estado</h2>
      <Facts facts={standings.map((name) => [standingWords[name], standingMeanings[name]])} />
      <h2>Enterarse sin mirar esta página</h2>
      <ul>
        <li>
          <Link to="/estado.atom">Atom</Link>: cada edición servida y cada incidencia, para un lector de noticias.
        </li>
        <li>
          <Link to="/estado.json">JSON</Link>: lo mismo que esta página, para programas. No necesita token.
        </li>
        <li>
          <a href={`${webcalOf(origin)}/estado.ics`}>Suscribir el calendario</a> de las publicaciones que se esperan, o{' '}
          <Link to="/estado.ics">descargarlo</Link>.
        </li>
      </ul>
    </>
  );
}

/** What most readers came for, in a sentence. */
export function summaryOf({ registers }: Status): string {
  const behind = registers.filter(({ standing }) => !['al_dia', 'sin_datos'].includes(standing.name));
  const loaded = registers.filter(({ standing }) => standing.name !== 'sin_datos').length;
  if (loaded === 0) return 'Todavía no se cargó ningún registro.';
  if (behind.length === 0)
    return loaded === 1 ? 'El registro cargado está al día.' : `Los ${loaded} registros cargados están al día.`;
  const ours = behind.filter(({ standing }) => standing.name === 'nosotros').length;
  const upToDate = loaded - behind.length;
  const whose =
    ours === 0 ? 'Ningún atraso es nuestro.' : ours === 1 ? 'Un atraso es nuestro.' : `${ours} atrasos son nuestros.`;
  return `${upToDate} de ${loaded} registros cargados al día. ${whose}`;
}

const columns = [
  { name: 'Registro' },
  { name: 'Datos del' },
  { name: 'Publicado y cargado' },
  { name: 'Filas y cambios', isNumber: true },
  { name: 'Próxima' },
];

function Registers({ registers, now }: { registers: readonly RegisterStatus[]; now: Date }) {
  return (
    <Table label="Registros" columns={columns} stacked>
      {registers.map((status) => {
        const { register, standing, served } = status;
        return (
          <tr key={register}>
            <td class="register">
              <Link to={`/estado/${register}`}>{registerTitle(register)}</Link>
              <span class="below">
                <StandingBadge name={standing.name} />
              </span>
              {!['al_dia', 'sin_datos'].includes(standing.name) && (
                <span class="below quiet">{standingSentence(status)}</span>
              )}
            </td>
            {served === null ? (
              <td colSpan={columns.length - 1} class="quiet">
                No se cargó en esta instalación.
              </td>
            ) : (
              <ServedCells served={served} next={expectedWords(status, now)} />
            )}
          </tr>
        );
      })}
    </Table>
  );
}

function loadedWords(publishedAt: Date, servedAt: Date | null): string {
  if (servedAt === null) return 'todavía no está cargado';
  const isSameDay = limaDay(publishedAt) === limaDay(servedAt);
  return isSameDay ? `cargado a las ${limaClock(servedAt)}` : `cargado el ${limaMoment(servedAt)}`;
}

function ServedCells({ served, next }: { served: ServedNow; next: string }) {
  const { fechaDato, publishedAt, servedAt, rows, isFull, changes } = served;
  return (
    <>
      <td class="tabular">
        <span class="label">Datos del </span>
        {shortDay(fechaDato)}
      </td>
      <td>
        <span class="label">Publicado </span>
        <Moment at={publishedAt} />
        <span class="below quiet">{loadedWords(publishedAt, servedAt)}</span>
      </td>
      <td class="number">
        <span class="label">Filas </span>
        {rows === null ? '—' : number(rows)}
        <span class="below quiet">{isFull ? 'carga completa' : `${number(changes)} cambios`}</span>
      </td>
      <td>
        <span class="label">Próxima </span>
        {next.charAt(0).toUpperCase() + next.slice(1)}
      </td>
    </>
  );
}
