import type { CalendarMeta, YearRange } from '../../../schemas/http/calendar.ts';
import { limaDay } from '../../../schemas/lima-time.ts';
import type { ApiDependencies } from '../../dependencies.ts';
import { shortDay } from '../formats.ts';
import { Code, Link } from '../parts.tsx';
import { webcalOf } from './words.ts';

// What the pages of the calendar share. They ask the same functions as the operations of the API, and no engine.

export type CalendarDependencies = Pick<ApiDependencies, 'calendar' | 'now' | 'sandboxToken'>;

/** Reads the calendar and the day in Lima once, so that the parts of a page agree. */
export function calendarNow({ calendar, now }: CalendarDependencies) {
  const { calendar: current, updatedAt } = calendar();
  return { calendar: current, today: limaDay(now()), updatedAt };
}

const views = [
  { path: '/calendario', name: 'Vencimientos' },
  { path: '/calendario/plazo', name: 'Calcular un plazo' },
  { path: '/calendario/feriados', name: 'Feriados' },
];

export function CalendarViews() {
  return (
    <nav class="views" aria-label="Calendario">
      <ul>
        {views.map(({ path, name }) => (
          <li key={path}>
            <Link to={path}>{name}</Link>
          </li>
        ))}
      </ul>
    </nav>
  );
}

export function NotCovered({ covers: { desde, hasta } }: { covers: YearRange }) {
  return (
    <p class="message warn" role="status">
      El calendario cubre los años {desde} a {hasta}.
    </p>
  );
}

/** Warns that a decree which is not loaded yet may change the answer. */
export function Provisional({ meta: { provisional, no_laborables: known } }: { meta: CalendarMeta }) {
  if (!provisional) return null;
  return (
    <p class="message warn">
      Es provisional: los decretos de días no laborables del sector público están completos del {shortDay(known.desde)}{' '}
      al {shortDay(known.hasta)}, y uno nuevo puede cambiar el resultado.
    </p>
  );
}

export function Source({ meta: { origen, atribucion } }: { meta: CalendarMeta }) {
  return (
    <p class="quiet">
      Fuente: {origen}. {atribucion}
    </p>
  );
}

interface SubscribeProps {
  /** Path of the feed with its query, but without a token. */
  feed: string;
  /** What is subscribed, after "Suscribir". */
  what: string;
  /** Scheme, host and path of this service. */
  origin: string;
  sandboxToken: string;
}

/** Offers a feed to the reader's own calendar program. The public token of trials stands in its address. */
export function Subscribe({ feed, what, origin, sandboxToken }: SubscribeProps) {
  const path = `${feed}${feed.includes('?') ? '&' : '?'}token=${encodeURIComponent(sandboxToken)}`;
  return (
    <div class="subscribe">
      <p>
        <a class="button" href={`${webcalOf(origin)}${path}`}>
          Suscribir {what}
        </a>{' '}
        <Link to={path}>Descargar el archivo .ics</Link>
      </p>
      <p class="hint">
        El botón abre el programa de calendario de su equipo. Si no abre ninguno, agregue esta dirección como calendario
        por URL:
      </p>
      <Code label={`Dirección para suscribir ${what}`}>{`${origin}${path}`}</Code>
    </div>
  );
}
