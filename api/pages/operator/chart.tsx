import { height, markWidth, Chart as Plot, placeWidth, round } from '../chart.tsx';

interface Point {
  name: string;
  value: number;
  /** What was allowed then. Null where nothing was. */
  limit?: number | null;
  /** Whether the value stands out, such as one that passed its limit. */
  isMarked?: boolean;
}

interface ChartProps {
  /** Stands above the bars. */
  title: string;
  /** What the bars are, for who does not see them. */
  label: string;
  /** In the order of time. */
  points: readonly Point[];
  show(value: number): string;
}

/**
 * Bars of a figure over time, with a line of its limits. The page has a table of the same figures for whoever does not
 * see them.
 */
export function Chart({ title, label, points, show }: ChartProps) {
  const most = Math.max(...points.flatMap(({ value, limit }) => [value, limit ?? 0]), Number.MIN_VALUE);
  const last = points.at(-1);
  return (
    <Plot
      title={title}
      summary={`${label}: ${points.length} valores, el último ${show(last?.value ?? 0)}. La tabla los tiene todos.`}
      places={points.map(({ name }) => name)}
      top={show(most)}
      bottom={show(0)}
    >
      {points.map(({ name, value, limit, isMarked }, index) => {
        const x = index * placeWidth;
        // A small value is still seen, and zero is not.
        const size = value === 0 ? 0 : Math.max(1, (value / most) * height);
        const y = limit == null ? null : round(height - (limit / most) * height);
        return (
          <g key={name}>
            <rect
              class={isMarked === true ? 'bar marked' : 'bar'}
              x={round(x + (placeWidth - markWidth) / 2)}
              y={round(height - size)}
              width={markWidth}
              height={round(size)}
            >
              <title>{`${name}: ${show(value)}`}</title>
            </rect>
            {y !== null && <line class="limit" x1={x} x2={x + placeWidth} y1={y} y2={y} />}
          </g>
        );
      })}
    </Plot>
  );
}
