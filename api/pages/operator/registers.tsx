import { type RegisterFreshness, readFreshness } from '../../../pipelines/editions/freshness.ts';
import { listPublications, type Publication } from '../../../pipelines/editions/publications.ts';
import type { OperatorDependencies } from '../../operators/dependencies.ts';
import { longDay, number, shortDay } from '../formats.ts';
import { Link, Moment, Table } from '../parts.tsx';
import type { OperatorPage } from './acting.ts';
import { ago, CommandWords, Empty, PublicationStatus, registerTitles, Status } from './words.tsx';

/** Largest number of publications in quarantine that are shown. More would be a sign of something else. */
const maxWaiting = 50;

/** `/registros`: every register at a glance, and what waits for somebody. `padron registers` shows the same. */
export function makeRegistersPage({ pool, now }: Pick<OperatorDependencies, 'pool' | 'now'>): OperatorPage {
  return {
    async show() {
      const at = now();
      const [registers, waiting] = await Promise.all([
        readFreshness(pool, at),
        listPublications(pool, { register: null, state: 'en_cuarentena', maxRows: maxWaiting }),
      ]);
      return {
        title: 'Registros',
        body: (
          <>
            <h1>Registros</h1>
            <Waiting publications={waiting} registers={registers} now={at} />
            <h2>Estado de cada registro</h2>
            <Registers registers={registers} now={at} />
          </>
        ),
      };
    },
  };
}

interface WaitingProps {
  publications: readonly Publication[];
  registers: readonly RegisterFreshness[];
  now: Date;
}

function Waiting({ publications, registers, now }: WaitingProps) {
  const paused = registers.filter(({ paused_at }) => paused_at !== null);
  const differing = registers.filter(({ last_reconciliation: checked }) => checked !== null && !checked.equal);
  const late = registers.filter(({ late }) => late.length > 0);
  const isCalm = publications.length + paused.length + differing.length + late.length === 0;
  return (
    <section aria-labelledby="espera">
      <h2 id="espera">Qué espera</h2>
      {isCalm && <p class="message good">Nada espera: ninguna cuarentena, pausa, diferencia ni atraso.</p>}
      <ul class="waiting">
        {publications.map(({ id, register, fecha_dato, state_at, state_reason }) => (
          <li key={id}>
            <Status tone="warn">cuarentena</Status>{' '}
            <Link to={`/publicaciones/${id}`}>
              Publicación {number(id)} de {registerTitles[register]}
            </Link>
            , {fecha_dato === null ? 'sin fecha' : `con datos del ${longDay(fecha_dato)}`}, {ago(state_at, now)}.{' '}
            {state_reason !== null && <CommandWords>{state_reason}</CommandWords>}
          </li>
        ))}
        {paused.map(({ register, paused_at, paused_by, paused_reason }) => (
          <li key={register}>
            <Status tone="warn">pausa</Status> <RegisterLink register={register} /> está en pausa {ago(paused_at, now)},
            por {paused_by}
            {paused_reason !== null && `: ${paused_reason}`}.
          </li>
        ))}
        {differing.map(({ register, last_reconciliation: checked }) => (
          <li key={register}>
            <Status tone="bad">diferencia</Status> <RegisterLink register={register} />:{' '}
            {number(checked?.differences ?? 0)} diferencias entre lo que se sirve y el archivo.
          </li>
        ))}
        {late.map(({ register, edition, late }) => (
          <li key={register}>
            <Status tone="bad">{edition === 0 ? 'sin cargar' : 'atraso'}</Status> <RegisterLink register={register} />{' '}
            <CommandWords>{late.join('; ')}</CommandWords>
          </li>
        ))}
      </ul>
    </section>
  );
}

function RegisterLink({ register }: Pick<RegisterFreshness, 'register'>) {
  return <Link to={`/registros/${register}`}>{registerTitles[register]}</Link>;
}

const columns = [
  { name: 'Registro' },
  { name: 'Edición', isNumber: true },
  { name: 'Datos del' },
  { name: 'Filas', isNumber: true },
  { name: 'El sitio respondió' },
  { name: 'Última publicación' },
  { name: 'Verificado' },
];

function Registers({ registers, now }: { registers: readonly RegisterFreshness[]; now: Date }) {
  return (
    <Table label="Estado de cada registro" columns={columns} stacked>
      {registers.map((row) => (
        <Register key={row.register} row={row} now={now} />
      ))}
    </Table>
  );
}

function Register({ row, now }: { row: RegisterFreshness; now: Date }) {
  const { register, edition, fecha_dato, rows, probed_at, last_publication: last, last_reconciliation: checked } = row;
  return (
    <tr>
      <td class="first wraps">
        <RegisterLink register={register} />
        <span class="quiet below">
          <code>{register}</code>
        </span>
        <span class="below">
          <RegisterState row={row} />
        </span>
      </td>
      <td class="number">
        <span class="label">Edición </span>
        {edition === 0 ? '—' : <Link to={`/ediciones/${register}/${edition}`}>{number(edition)}</Link>}
      </td>
      <td>
        <span class="label">Datos del </span>
        {fecha_dato === null ? '—' : shortDay(fecha_dato)}
      </td>
      <td class="number">
        <span class="label">Filas </span>
        {rows === null ? '—' : number(rows)}
      </td>
      <td>
        <span class="label">El sitio respondió </span>
        {ago(probed_at, now)}
      </td>
      <td>
        <span class="label">Última publicación </span>
        {last === null ? (
          '—'
        ) : (
          <>
            <Link to={`/publicaciones/${last.id}`}>{number(last.id)}</Link>
            <span class="below">
              <PublicationStatus state={last.state} />
            </span>
          </>
        )}
      </td>
      <td>
        <span class="label">Verificado </span>
        {checked === null ? (
          'nunca'
        ) : (
          <Status tone={checked.equal ? 'good' : 'bad'}>
            {checked.equal ? 'igual' : 'difiere'}, {ago(new Date(checked.checked_at), now)}
          </Status>
        )}
      </td>
    </tr>
  );
}

/** The same states as in `padron registers`. */
export function RegisterState({ row }: { row: RegisterFreshness }) {
  const { edition, late, paused_at, quarantined, on_its_way } = row;
  const states = [
    ...(paused_at === null ? [] : [{ tone: 'warn' as const, text: 'en pausa' }]),
    ...(late.length === 0 ? [] : [{ tone: 'bad' as const, text: edition === 0 ? 'sin cargar' : 'con atraso' }]),
    ...(quarantined === 0 ? [] : [{ tone: 'warn' as const, text: `${number(quarantined)} en cuarentena` }]),
    ...(on_its_way === null ? [] : [{ tone: 'plain' as const, text: `edición ${on_its_way} en camino` }]),
  ];
  if (states.length === 0) return <Status tone="good">al día</Status>;
  return (
    <>
      {states.map(({ tone, text }) => (
        <Status key={text} tone={tone}>
          {text}
        </Status>
      ))}
    </>
  );
}

/** Publications of one register, or of all, as in `padron publications list`. */
export function Publications({ publications, label }: { publications: readonly Publication[]; label: string }) {
  if (publications.length === 0) return <Empty>Todavía no hay publicaciones.</Empty>;
  return (
    <Table label={label} columns={publicationColumns} stacked>
      {publications.map(({ id, fecha_dato, state, rows, rejected, edition, register, detected_at }) => (
        <tr key={id}>
          <td class="first">
            <Link to={`/publicaciones/${id}`}>Publicación {number(id)}</Link>
          </td>
          <td>
            <span class="label">Vista </span>
            <Moment at={detected_at} />
          </td>
          <td>
            <span class="label">Datos del </span>
            {fecha_dato === null ? 'sin fecha' : <span class="tabular">{longDay(fecha_dato)}</span>}
          </td>
          <td class="number">
            <span class="label">Filas </span>
            {rows === null ? '—' : number(rows)}
          </td>
          <td class="number">
            <span class="label">Rechazadas </span>
            {rejected === null ? '—' : number(rejected)}
          </td>
          <td class="number">
            <span class="label">Edición </span>
            {edition === null ? '—' : <Link to={`/ediciones/${register}/${edition}`}>{number(edition)}</Link>}
          </td>
          <td class="aside">
            <PublicationStatus state={state} />
          </td>
        </tr>
      ))}
    </Table>
  );
}

const publicationColumns = [
  { name: 'Publicación' },
  { name: 'Vista' },
  { name: 'Datos del' },
  { name: 'Filas', isNumber: true },
  { name: 'Rechazadas', isNumber: true },
  { name: 'Edición', isNumber: true },
  { name: 'Estado' },
];
