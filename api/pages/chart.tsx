import type { ComponentChildren } from 'preact';
import { number } from './formats.ts';

// Charts as SVG, rendered here: no script and no style attribute. The picture is stretched to the width of the page, so
// all texts stand beside it in HTML and keep their size. Each page has a table with the same figures.

/** Units of the picture: each of its places has this width, and all of it this height. */
export const placeWidth = 10;
export const height = 100;
/** The part of a place's width that its mark takes. */
export const markWidth = 7;

interface ChartProps {
  /** What is shown, in a sentence. It stands in place of the picture for who does not see it. */
  summary: string;
  title: string;
  /** Names of the places from left to right, such as days. */
  places: readonly string[];
  top: string;
  bottom: string;
  children: ComponentChildren;
}

export function Chart({ summary, title, places, top, bottom, children }: ChartProps) {
  const width = places.length * placeWidth;
  return (
    <figure class="chart">
      <figcaption>{title}</figcaption>
      <div class="plot">
        <span class="scale" aria-hidden="true">
          <span>{top}</span>
          <span>{bottom}</span>
        </span>
        <svg viewBox={`0 0 ${width} ${height}`} preserveAspectRatio="none" role="img" aria-label={summary}>
          <line class="grid" x1="0" x2={width} y1="0.5" y2="0.5" />
          <line class="grid" x1="0" x2={width} y1={height / 2} y2={height / 2} />
          {children}
          <line class="axis" x1="0" x2={width} y1={height - 0.5} y2={height - 0.5} />
        </svg>
        <span class="span" aria-hidden="true">
          <span>{places[0]}</span>
          <span>{places.length > 1 ? places.at(-1) : ''}</span>
        </span>
      </div>
    </figure>
  );
}

interface BarsProps extends Pick<ChartProps, 'summary' | 'title'> {
  /** A place without a value has no bar, and neither has one of zero. */
  bars: readonly { name: string; value: number | null }[];
  /** What is counted, in the plural. */
  unit: string;
}

export function BarChart({ bars, unit, ...texts }: BarsProps) {
  const scale = niceCeiling(Math.max(...bars.map(({ value }) => value ?? 0)));
  return (
    <Chart {...texts} places={bars.map(({ name }) => name)} top={number(scale)} bottom="0">
      {bars.map(({ name, value }, index) => {
        if (value === null || value === 0) return null;
        // A small value beside a large one is still seen.
        const size = Math.max(1, (value / scale) * height);
        return (
          <rect
            key={name}
            class="bar"
            x={index * placeWidth}
            y={round(height - size)}
            width={markWidth}
            height={round(size)}
          >
            <title>{`${name}: ${number(value)} ${unit}`}</title>
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

export function round(value: number): number {
  return Math.round(value * 10) / 10;
}
