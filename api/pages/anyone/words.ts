import type { Habit } from '../../../pipelines/editions/habit.ts';
import type { IncidentKind, StandingName } from '../../../pipelines/editions/standing.ts';
import { limaDay, limaTime } from '../../../schemas/lima-time.ts';
import { registers } from '../../../schemas/registers.ts';
import type { RegisterStatus } from '../../queries/register-status.ts';
import { limaMoment, longDay, number, shortDay } from '../formats.ts';

// The words in which the status is shown, on its pages and in its feeds.

export const standingWords: Readonly<Record<StandingName, string>> = {
  al_dia: 'Al día',
  autoridad: 'La autoridad aún no publica',
  retenida: 'Retenida por control de calidad',
  nosotros: 'Nos atrasamos',
  sin_datos: 'Sin datos todavía',
};

/** What each standing means, for the page that explains them. */
export const standingMeanings: Readonly<Record<StandingName, string>> = {
  al_dia: 'Se sirve la publicación más reciente que se podía esperar.',
  autoridad:
    'La autoridad publica más tarde que de costumbre. Consultamos su sitio después de la hora y no había nada.',
  retenida:
    'Hay una publicación más nueva que un control de calidad detuvo, o un operador detuvo el registro. Se sirve la ' +
    'edición anterior hasta que un operador decida.',
  nosotros: 'Hay una publicación más nueva que no servimos a tiempo, o no consultamos el sitio cuando tocaba.',
  sin_datos: 'El registro nunca se cargó en esta instalación.',
};

/** A sentence about a register now: what its standing is, and since when. */
export function standingSentence({ standing: { name, since }, served, probedAt, expected }: RegisterStatus): string {
  const from = since === null ? '' : ` desde el ${limaMoment(since)}`;
  switch (name) {
    case 'al_dia':
      return `Se sirven los datos del ${served === null ? 'último día publicado' : longDay(served.fechaDato)}.`;
    case 'autoridad':
      return (
        `Se esperaba una publicación ${expected === null ? 'antes' : `el ${limaMoment(expected.at)}`}. ` +
        `El sitio se consultó por última vez el ${probedAt === null ? '—' : limaMoment(probedAt)} y no la tenía.`
      );
    case 'retenida':
      return `Una publicación más nueva no pasó el control de calidad o espera a un operador${from}. Se sirve la anterior.`;
    case 'nosotros':
      return since === null ? 'El sitio oficial nunca contestó.' : `El atraso es nuestro${from}.`;
    case 'sin_datos':
      return 'El registro nunca se cargó en esta instalación.';
  }
}

const incidentTitles: Readonly<Record<IncidentKind, string>> = {
  autoridad: 'La autoridad publicó más tarde que de costumbre',
  retenida: 'Una publicación quedó retenida por control de calidad',
  nosotros: 'Nos atrasamos en servir una publicación',
  verificacion: 'Una verificación encontró diferencias con el archivo',
  correccion: 'Se deshizo una edición',
};

export const incidentTitle = (kind: IncidentKind): string => incidentTitles[kind];

/** How long something lasted: 3 días, 2 h 10 min, 45 min. */
export function duration(from: Date, to: Date): string {
  const minutes = Math.max(0, Math.round((to.getTime() - from.getTime()) / 60_000));
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return minutes % 60 === 0 ? `${hours} h` : `${hours} h ${minutes % 60} min`;
  return `${number(Math.round(hours / 24))} días`;
}

/** 02:40 @param minutes after midnight */
export function clock(minutes: number): string {
  return `${String(Math.floor(minutes / 60)).padStart(2, '0')}:${String(minutes % 60).padStart(2, '0')}`;
}

/** 02:40 in Lima */
export function limaClock(at: Date): string {
  return limaTime(at).slice(11, 16);
}

const weekdayNames = ['domingos', 'lunes', 'martes', 'miércoles', 'jueves', 'viernes', 'sábados'];
const list = new Intl.ListFormat('es', { type: 'conjunction' });

/** How a register is published, in a sentence. */
export function habitSentence(habit: Habit | null): string {
  if (habit === null) return 'Todavía no se conocen bastantes publicaciones.';
  const { rhythm, minutes, gapDays, weekdays, dayOfMonth } = habit;
  const hours =
    minutes.earliest === minutes.latest
      ? `hacia las ${clock(minutes.usual)}`
      : `casi siempre entre las ${clock(minutes.earliest)} y las ${clock(minutes.latest)}`;
  if (rhythm === 'monthly') return `Se publica una vez al mes, hacia el día ${dayOfMonth}.`;
  if (rhythm === 'irregular')
    return `Se publica sin día fijo: lo usual son ${gapDays.usual} días entre dos publicaciones, y a lo más fueron ${gapDays.longest}.`;
  const days =
    weekdays.length === 7 ? 'todos los días' : `los ${list.format(weekdays.map((day) => weekdayNames[day]!))}`;
  return `Se publica ${days}, ${hours}.`;
}

/** When the next publication is expected, in a few words. */
export function expectedWords({ habit, expected }: RegisterStatus, now: Date): string {
  if (habit === null || expected === null) return 'No se sabe';
  const day = limaDay(expected.at);
  const past = expected.at < now ? 'se esperaba ' : '';
  if (habit.rhythm !== 'daily') return `${past}hacia el ${shortDay(day)}`;
  const today = limaDay(now);
  const tomorrow = limaDay(new Date(now.getTime() + 86_400_000));
  const name = day === today ? 'hoy' : day === tomorrow ? 'mañana' : `el ${shortDay(day)}`;
  return `${past}${name} hacia las ${limaClock(expected.at)}`;
}

const withWeekday = new Intl.DateTimeFormat('es-PE', {
  timeZone: 'America/Lima',
  weekday: 'long',
  day: 'numeric',
  month: 'long',
  year: 'numeric',
});
const months = new Intl.DateTimeFormat('es-PE', { timeZone: 'America/Lima', month: 'long', year: 'numeric' });

/** martes, 22 de diciembre de 2026 @param day YYYY-MM-DD */
export function weekdayAndDay(day: string): string {
  return withWeekday.format(new Date(`${day}T12:00:00-05:00`));
}

/** noviembre de 2026 @param period YYYY-MM */
export function monthName(period: string): string {
  return months.format(new Date(`${period}-15T12:00:00-05:00`));
}

/** Title of a register, for texts that name several. */
export function registerTitle(register: keyof typeof registers): string {
  return registers[register].title;
}

/** The address with which a browser offers a calendar to the reader's own program. @param origin scheme and host */
export function webcalOf(origin: string): string {
  return origin.replace(/^https?:/, 'webcal:');
}
