import { limaDay, startOfLimaDay } from '../../../schemas/lima-time.ts';
import { isRegisterName } from '../../../schemas/registers.ts';
import { notFound } from '../../problems.ts';
import { changesByDay, daysShown, type RegisterStatus, type Status, shownDays } from '../../queries/register-status.ts';
import { longDay, number, shortDay } from '../formats.ts';
import type { Page, PageRequest } from '../page.ts';
import { Facts, Link, Moment, Table } from '../parts.tsx';
import { ChangesChart, HoursChart } from './charts.tsx';
import { type StatusDependencies, withStatus } from './status.tsx';
import { Incidents, StandingBadge, StatusAge } from './status-parts.tsx';
import { expectedWords, habitSentence, limaClock, registerTitle, standingSentence } from './words.ts';

/** `/estado/{registro}`: all that is public about one register, with its past of 90 days as charts and a table. */
export function makeRegisterStatusPage(dependencies: StatusDependencies): Page<PageRequest> {
  return {
    async show({ params: { registro = '' } }) {
      if (!isRegisterName(registro)) throw notFound('El registro');
      return withStatus(dependencies, (status, now) => {
        const register = status.registers.find((each) => each.register === registro)!;
        return { title: registerTitle(registro), body: <Register {...{ status, register, now }} /> };
      });
    },
  };
}

function Register({ status, register, now }: { status: Status; register: RegisterStatus; now: Date }) {
  const days = daysShown(status.readAt);
  const changes = changesByDay(register.versions);
  const publications = register.versions.flatMap(({ publishedAt }) =>
    publishedAt === null ? [] : [{ day: limaDay(publishedAt), minutes: minutesOf(publishedAt) }],
  );
  return (
    <>
      <p class="path">
        <Link to="/estado">Estado de los datos</Link>
      </p>
      <h1>{register.title}</h1>
      <p>
        <StandingBadge name={register.standing.name} />
      </p>
      <p>{standingSentence(register)}</p>
      <StatusAge status={status} now={now} />
      <ServedFacts register={register} now={now} />
      <h2>Los últimos {shownDays} días</h2>
      {changes.size > 0 && <ChangesChart days={days} changes={changes} />}
      {publications.length > 0 && (
        <HoursChart days={days} publications={publications} usual={register.habit?.minutes.usual ?? null} />
      )}
      <Versions register={register} />
      <h2>Incidencias</h2>
      <Incidents incidents={register.incidents} now={now} withRegister={false} />
    </>
  );
}

function minutesOf(at: Date): number {
  return Math.floor((at.getTime() - startOfLimaDay(limaDay(at)).getTime()) / 60_000);
}

function ServedFacts({ register, now }: { register: RegisterStatus; now: Date }) {
  const { served, verification, probedAt, habit } = register;
  const loaded =
    served === null
      ? []
      : ([
          ['Fecha de los datos', longDay(served.fechaDato)],
          ['Publicado por la autoridad', <Moment key="published" at={served.publishedAt} />],
          ['Cargado', served.servedAt === null ? 'Se está cargando' : <Moment key="served" at={served.servedAt} />],
          ['Edición', <span class="tabular">{number(served.number)}</span>],
          ['Filas', served.rows === null ? 'No se conocen' : <span class="tabular">{number(served.rows)}</span>],
          [
            'Cambios frente a la anterior',
            served.isFull ? 'Ninguna: es una carga completa' : <span class="tabular">{number(served.changes)}</span>,
          ],
          [
            'SHA-256 del archivo',
            served.sha256 === null ? 'Es una corrección y no tiene archivo propio' : <code>{served.sha256}</code>,
          ],
        ] as const);
  return (
    <Facts
      facts={[
        ...loaded,
        ['Última verificación', <VerificationText key="verification" verification={verification} />],
        [
          'Última consulta al sitio oficial',
          probedAt === null ? 'Nunca contestó' : <Moment key="probed" at={probedAt} />,
        ],
        [
          'Próxima publicación',
          <span key="expected" class="capital">
            {expectedWords(register, now)}
          </span>,
        ],
        ['Costumbre de la autoridad', habitSentence(habit)],
      ]}
    />
  );
}

function VerificationText({ verification }: Pick<RegisterStatus, 'verification'>) {
  if (verification === null) return <>Todavía no hay ninguna</>;
  const { checkedAt, equal, differences, edition } = verification;
  const outcome = equal
    ? 'todas las filas son iguales a las del archivo'
    : `${number(differences)} filas difieren del archivo`;
  return (
    <>
      <Moment at={checkedAt} />, edición {number(edition)}: {outcome}
    </>
  );
}

const columns = [
  { name: 'Publicado' },
  { name: 'Hora' },
  { name: 'Datos del' },
  { name: 'Edición', isNumber: true },
  { name: 'Cambios', isNumber: true },
  { name: 'Filas', isNumber: true },
  { name: 'Cargado' },
];

/** The same figures as in the charts, the newest first. */
function Versions({ register: { versions } }: { register: RegisterStatus }) {
  if (versions.length === 0) return <p>En estos días no hubo ninguna publicación.</p>;
  return (
    <details>
      <summary>
        {versions.length === 1 ? 'La publicación en una tabla' : `Las ${versions.length} publicaciones en una tabla`}
      </summary>
      <Table label="Publicaciones" columns={columns} stacked>
        {[...versions].reverse().map((version) => (
          <tr key={`${version.sha256} ${version.detectedAt.getTime()}`}>
            <td class="tabular">
              <span class="label">Publicado el </span>
              {version.publishedAt === null ? 'sin fecha' : shortDay(limaDay(version.publishedAt))}
            </td>
            <td class="tabular">
              <span class="label">Hora </span>
              {version.publishedAt === null ? '—' : limaClock(version.publishedAt)}
            </td>
            <td class="tabular">
              <span class="label">Datos del </span>
              {version.fechaDato === null ? '—' : shortDay(version.fechaDato)}
            </td>
            <td class="number">
              <span class="label">Edición </span>
              {version.edition === null ? stateWords[version.state] : number(version.edition)}
            </td>
            <td class="number">
              <span class="label">Cambios </span>
              {version.changes === null ? '—' : version.isFull ? 'carga completa' : number(version.changes)}
            </td>
            <td class="number">
              <span class="label">Filas </span>
              {version.rows === null ? '—' : number(version.rows)}
            </td>
            <td>
              <span class="label">Cargado </span>
              {version.servedAt === null ? '—' : <Moment at={version.servedAt} />}
            </td>
          </tr>
        ))}
      </Table>
    </details>
  );
}

/** Why a publication has no edition. */
const stateWords: Readonly<Record<RegisterStatus['versions'][number]['state'], string>> = {
  detectada: 'por descargar',
  descargada: 'en proceso',
  verificada: 'en proceso',
  comparada: 'en proceso',
  publicando: 'en proceso',
  publicada: 'publicada',
  en_cuarentena: 'retenida',
  rechazada: 'rechazada',
  repetida: 'mismos datos',
  sustituida: 'sustituida',
};
