import { BarChart, Chart, height, markWidth, placeWidth, round } from '../chart.tsx';
import { number, shortDay } from '../formats.ts';
import { clock } from './words.ts';

// The charts of a register's status.

/** Bars of the changes of each day. A day without a publication has none. */
export function ChangesChart({ days, changes }: { days: readonly string[]; changes: ReadonlyMap<string, number> }) {
  const largest = Math.max(...changes.values());
  const largestDay = days.find((day) => changes.get(day) === largest) ?? days.at(-1)!;
  return (
    <BarChart
      title="Cambios por día de publicación"
      summary={`Cambios por día de publicación en ${days.length} días. Lo más fueron ${number(largest)}, el ${shortDay(largestDay)}.`}
      bars={days.map((day) => ({ name: shortDay(day), value: changes.get(day) ?? null }))}
      unit="cambios"
    />
  );
}

interface HoursProps {
  days: readonly string[];
  /** Each publication: its day in Lima, and minutes after midnight. */
  publications: readonly { day: string; minutes: number }[];
  /** Usual time by the register's habit, as minutes after midnight. */
  usual: number | null;
}

/** A mark at the time of each publication. Earlier times are higher. */
export function HoursChart({ days, publications, usual }: HoursProps) {
  const minutes = publications.map((publication) => publication.minutes);
  const { from, to } = hoursAround(Math.min(...minutes), Math.max(...minutes));
  const placeOf = (value: number) => round(((value - from) / (to - from)) * height);
  const indexOf = new Map(days.map((day, index) => [day, index]));
  const range = `entre las ${clock(Math.min(...minutes))} y las ${clock(Math.max(...minutes))}`;
  return (
    <Chart
      title="Hora de publicación, en Lima"
      summary={`Hora de las ${publications.length} publicaciones en ${days.length} días: ${range}, en Lima.`}
      places={days.map(shortDay)}
      top={clock(from)}
      bottom={clock(to)}
    >
      {usual !== null && (
        <line class="usual" x1="0" x2={days.length * placeWidth} y1={placeOf(usual)} y2={placeOf(usual)} />
      )}
      {publications.map(({ day, minutes: at }) => {
        const index = indexOf.get(day);
        if (index === undefined) return null;
        const y = Math.min(height - 4, Math.max(0, placeOf(at) - 2));
        return (
          <rect key={`${day} ${at}`} class="bar" x={index * placeWidth} y={y} width={markWidth} height="4">
            <title>{`${shortDay(day)}, ${clock(at)}`}</title>
          </rect>
        );
      })}
    </Chart>
  );
}

/** Shortest time that the chart of hours spans, so that minutes of difference do not look like hours. */
const minSpanMinutes = 120;

/** Returns whole hours around the times, as minutes after midnight. */
export function hoursAround(earliest: number, latest: number): { from: number; to: number } {
  const from = Math.max(0, Math.floor(earliest / 60) * 60);
  // The end of the day is 24:00.
  const to = Math.min(24 * 60, Math.max(Math.ceil((latest + 1) / 60) * 60, from + minSpanMinutes));
  return { from: Math.min(from, to - minSpanMinutes), to };
}
