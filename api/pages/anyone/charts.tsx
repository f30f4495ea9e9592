import type { ComponentChildren } from 'preact';
import { number } from '../formats.ts';
import { clock, shortDay } from './words.ts';

// Charts as SVG, rendered here: no script and no style attribute. The picture is stretched to the width of the page, so
// all texts stand beside it in HTML and keep their size. A table with the same figures follows each pair of charts.

/** Units of the picture: each day has this width, and all of it this height. */
const dayWidth = 10;
const height = 100;
/** The part of a day's width that its mark takes. */
const markWidth = 7;

interface ChartProps {
  /** What is shown, in a sentence. It stands in place of the picture for who does not see it. */
  summary: string;
  title: string;
  /** Days from left to right, YYYY-MM-DD. */
  days: readonly string[];
  top: string;
  bottom: string;
  children: ComponentChildren;
}

function Chart({ summary, title, days, top, bottom, children }: ChartProps) {
  return (
    <figure class="chart">
      <figcaption>{title}</figcaption>
      <div class="plot">
        <span class="scale" aria-hidden="true">
          <span>{top}</span>
          <span>{bottom}</span>
        </span>
        <svg
          viewBox={`0 0 ${days.length * dayWidth} ${height}`}
          preserveAspectRatio="none"
          role="img"
          aria-label={summary}
        >
          <line class="grid" x1="0" x2={days.length * dayWidth} y1="0.5" y2="0.5" />
          <line class="grid" x1="0" x2={days.length * dayWidth} y1={height / 2} y2={height / 2} />
          {children}
          <line class="axis" x1="0" x2={days.length * dayWidth} y1={height - 0.5} y2={height - 0.5} />
        </svg>
        <span class="span" aria-hidden="true">
          <span>{shortDay(days[0]!)}</span>
          <span>{shortDay(days.at(-1)!)}</span>
        </span>
      </div>
    </figure>
  );
}

/** Bars of the changes of each day. A day without a publication has none. */
export function ChangesChart({ days, changes }: { days: readonly string[]; changes: ReadonlyMap<string, number> }) {
  const largest = Math.max(...changes.values());
  const largestDay = days.find((day) => changes.get(day) === largest) ?? days.at(-1)!;
  const scale = niceCeiling(largest);
  return (
    <Chart
      title="Cambios por día de publicación"
      summary={`Cambios por día de publicación en ${days.length} días. Lo más fueron ${number(largest)}, el ${shortDay(largestDay)}.`}
      days={days}
      top={number(scale)}
      bottom="0"
    >
      {days.map((day, index) => {
        const count = changes.get(day);
        if (count === undefined) return null;
        // A day with few changes beside one with many is still seen.
        const size = Math.max(1, (count / scale) * height);
        return (
          <rect
            key={day}
            class="bar"
            x={index * dayWidth}
            y={round(height - size)}
            width={markWidth}
            height={round(size)}
          >
            <title>{`${shortDay(day)}: ${number(count)} cambios`}</title>
          </rect>
        );
      })}
    </Chart>
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
      days={days}
      top={clock(from)}
      bottom={clock(to)}
    >
      {usual !== null && (
        <line class="usual" x1="0" x2={days.length * dayWidth} y1={placeOf(usual)} y2={placeOf(usual)} />
      )}
      {publications.map(({ day, minutes: at }) => {
        const index = indexOf.get(day);
        if (index === undefined) return null;
        const y = Math.min(height - 4, Math.max(0, placeOf(at) - 2));
        return (
          <rect key={`${day} ${at}`} class="bar" x={index * dayWidth} y={y} width={markWidth} height="4">
            <title>{`${shortDay(day)}, ${clock(at)}`}</title>
          </rect>
        );
      })}
    </Chart>
  );
}

/** Returns a number of one or two leading digits that is not below the value, so that a scale reads well. */
export function niceCeiling(value: number): number {
  if (value <= 1) return 1;
  const unit = 10 ** Math.floor(Math.log10(value));
  const step = [1, 1.5, 2, 3, 4, 5, 6, 8, 10].find((each) => each * unit >= value)!;
  return Math.ceil(step * unit);
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

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
