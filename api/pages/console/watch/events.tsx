import { z } from 'zod';
import { type CausedEvent, lastPosition, pageNewestEvents } from '../../../../pipelines/watch/history.ts';
import { pageLists, type WatchList } from '../../../../pipelines/watch/lists.ts';
import { deltaTypes } from '../../../../schemas/http/editions.ts';
import { type EventPayload, eventFilters } from '../../../../schemas/http/events.ts';
import { eventKinds } from '../../../../schemas/registers.ts';
import { planRanks } from '../../../accounts/callers.ts';
import type { ApiDependencies } from '../../../dependencies.ts';
import { instantAfter, instantFrom, readCursor, writeCursor } from '../../../input.ts';
import { notFound } from '../../../problems.ts';
import { makeEditionHandlers } from '../../../routes/editions.ts';
import { makeEventHandlers } from '../../../routes/events.ts';
import { Filters, Select, TextField } from '../../fields.tsx';
import { longDay, number } from '../../formats.ts';
import { type AccountRequest, accountPageWithQuery, type Filled, type Page } from '../../page.ts';
import { Facts, Link, Moment } from '../../parts.tsx';
import { prefixOf, type Site } from '../../sessions/cookies.ts';
import { Hash } from '../companies/company.tsx';
import { eventKindTexts, eventSentence, fieldLabel, registerNamesShown, shownValue } from '../words.ts';
import { deliveryStateTexts } from './states.ts';

const query = z.strictObject({
  ...eventFilters,
  desde: z.iso.date().optional(),
  hasta: z.iso.date().optional(),
  cursor: z.string().optional(),
});
type Query = z.output<typeof query>;

const eventsPerPage = 30;
/** How often the newest events are read again while somebody looks at them and no stream is open. */
const liveSeconds = 10;
const followPath = '/consola/eventos/en-vivo';
/** Lists that the filter offers. An account may have more, which are found by the link on the list's own page. */
const maxListOptions = 200;

/** `/consola/eventos`: what changed, in words, with the official file that it was read from. */
export function makeEventsPage({ pool, site }: Pick<ApiDependencies, 'pool'> & { site: Site }): Page<AccountRequest> {
  return accountPageWithQuery({
    query,
    async show({ session, query: { values, ...filled } }) {
      const { accountId, planRank } = session.caller;
      // Older pages do not change.
      const isLive = values !== null && values.cursor === undefined;
      const lists = await pageLists(pool, accountId, 0, maxListOptions);
      const [events, newest] =
        values === null ? [[], 0] : await Promise.all([read(accountId, values), lastPosition(pool, accountId)]);
      return {
        title: 'Eventos',
        status: values === null ? 422 : 200,
        scripts: ['live.js'],
        body: (
          <>
            <h1>Eventos</h1>
            <EventFilters filled={filled} lists={lists} />
            {values !== null && (
              <>
                <p class="live quiet" role="status" id="en-vivo" />
                <div
                  id="eventos"
                  data-live={isLive ? liveSeconds : undefined}
                  // An account that has lists from a former plan reads its old events, and gets no new ones.
                  data-stream={
                    isLive && planRank >= planRanks.crecimiento ? `${prefixOf(site)}${followPath}` : undefined
                  }
                >
                  <Events
                    events={events}
                    filled={filled}
                    hasAny={newest > 0}
                    hasFiles={planRank >= planRanks.empresa}
                  />
                </div>
              </>
            )}
          </>
        ),
      };
    },
  });

  function read(accountId: number, { ruc, evento, lista, desde, hasta, cursor }: Query): Promise<CausedEvent[]> {
    const before = cursor === undefined ? null : Number(readCursor('eventos_previos', cursor, ''));
    const days = {
      ...(desde === undefined ? {} : { fromDay: desde, from: instantFrom(desde) }),
      ...(hasta === undefined ? {} : { toDay: hasta, until: instantAfter(hasta) }),
    };
    return pageNewestEvents(pool, accountId, { ruc, evento, list: lista, ...days, before }, eventsPerPage + 1);
  }
}

/**
 * `/consola/eventos/en-vivo`: the API's stream of events with the filters of the page. It ends with the session, and keeps
 * no session in use.
 */
export function makeFollowEventsPage(dependencies: ApiDependencies): Page<AccountRequest> {
  const { seguirEventos } = makeEventHandlers(dependencies);
  return accountPageWithQuery({
    query: query.omit({ cursor: true }),
    async show({ context, query: { values } }) {
      if (values === null) throw notFound('El flujo');
      await seguirEventos({ params: {}, query: values, body: undefined }, context);
      return { isAnswered: true };
    },
  });
}

/** `/consola/ediciones/{registro}/{numero}/cambios`: the changes of the edition that caused an event, as JSON lines. */
export function makeEditionChangesPage(dependencies: ApiDependencies): Page<AccountRequest> {
  const { descargarCambios } = makeEditionHandlers(dependencies);
  return {
    async show({ context, params: { registro = '', numero = '' } }) {
      // A browser names what it shows, not what it saves. Programs ask the API, also for Parquet.
      context.req.headers.accept = deltaTypes[0];
      await descargarCambios({ params: { registro, numero }, query: undefined, body: undefined }, context);
      return { isAnswered: true };
    },
  };
}

function EventFilters({ filled, lists }: { filled: Filled; lists: readonly WatchList[] }) {
  const all = { value: '', label: 'Todos' };
  return (
    <Filters filled={filled}>
      <TextField name="ruc" label="RUC" inputMode="numeric" size={13} />
      <Select
        name="evento"
        label="Clase"
        options={[all, ...eventKinds.map((kind) => ({ value: kind, label: eventKindTexts[kind] }))]}
      />
      <Select
        name="lista"
        label="Lista"
        options={[
          { value: '', label: 'Todas' },
          ...lists.map(({ id, nombre }) => ({ value: String(id), label: nombre })),
        ]}
      />
      <TextField name="desde" label="Desde" type="date" />
      <TextField name="hasta" label="Hasta" type="date" />
      <div class="field">
        <button type="submit">Filtrar</button>
      </div>
    </Filters>
  );
}

interface EventsProps {
  events: readonly CausedEvent[];
  filled: Filled;
  /** Whether the account ever had an event. */
  hasAny: boolean;
  /** Whether the plan includes the changes of whole editions. */
  hasFiles: boolean;
}

function Events({ events, filled, hasAny, hasFiles }: EventsProps) {
  if (events.length === 0 && !hasAny)
    return (
      <p>
        Todavía no hay eventos. Aparecen cuando cambia una empresa de sus <Link to="/consola/listas">listas</Link>.
      </p>
    );
  if (events.length === 0) return <p>Ningún evento con estos filtros.</p>;
  const page = events.slice(0, eventsPerPage);
  const cursor = writeCursor('eventos_previos', page.at(-1)!.position);
  return (
    <>
      <ol class="events">
        {page.map((event) => (
          <li key={event.id} id={event.id}>
            <OneEvent event={event} hasFiles={hasFiles} />
          </li>
        ))}
      </ol>
      {events.length > eventsPerPage && (
        <p>
          <Link to={`/consola/eventos?${new URLSearchParams({ ...filled.typed, cursor })}`} class="button">
            Ver lo anterior
          </Link>
        </p>
      )}
    </>
  );
}

function OneEvent({ event: { payload, cause, deliveries }, hasFiles }: { event: CausedEvent; hasFiles: boolean }) {
  const event = JSON.parse(payload) as EventPayload;
  const { datos, watchlist } = event;
  return (
    <article class="event">
      <div>
        <h2>{eventSentence(event)}</h2>
        <p>
          RUC <Link to={`/consola/empresas/${datos.ruc}`}>{datos.ruc}</Link>, de la lista{' '}
          <Link to={`/consola/listas/${watchlist.id}`}>{watchlist.nombre}</Link>
        </p>
        {datos.campo !== 'ruc' && (
          <p>
            {fieldLabel(datos.campo)}: <del>{shownValue(datos.antes)}</del> <span aria-hidden="true">→</span>{' '}
            <ins>{shownValue(datos.despues)}</ins>
          </p>
        )}
        {cause.takenBackBy !== null && (
          <p class="message warn">La edición {number(cause.takenBackBy)} corrigió esto: ya no vale.</p>
        )}
        <Deliveries deliveries={deliveries} />
      </div>
      <Cause cause={cause} hasFiles={hasFiles} />
    </article>
  );
}

function Deliveries({ deliveries }: Pick<CausedEvent, 'deliveries'>) {
  if (deliveries.length === 0) return <p class="quiet">No se envió a ningún webhook.</p>;
  return (
    <p class="quiet">
      {deliveries.map(({ id, estado }, index) => (
        <span key={id}>
          {index > 0 && ' · '}
          <Link to={`/consola/entregas/${id}`}>Entrega {deliveryStateTexts[estado].toLowerCase()}</Link>
        </span>
      ))}
    </p>
  );
}

function Cause({
  cause: { register, edition, fechaDato, publishedAt, detectedAt, sha256 },
  hasFiles,
}: Pick<CausedEvent, 'cause'> & { hasFiles: boolean }) {
  const name = `${registerNamesShown[register]}, edición\u00a0${number(edition)}`;
  return (
    <Facts
      facts={[
        [
          'Causa',
          hasFiles ? (
            <span key="cause">
              {name} (<Link to={`/consola/ediciones/${register}/${edition}/cambios`}>sus cambios</Link>)
            </span>
          ) : (
            name
          ),
        ],
        ['Fecha del dato', longDay(fechaDato)],
        ['Publicado', publishedAt === null ? 'sin dato' : <Moment key="published" at={publishedAt} />],
        ['Detectado', detectedAt === null ? 'sin dato' : <Moment key="detected" at={detectedAt} />],
        [
          'SHA-256 del archivo',
          sha256 === null ? 'Es una corrección: no tiene archivo' : <Hash key="hash" text={sha256} />,
        ],
      ]}
    />
  );
}
