interface Point {
  name: string;
  value: number;
  /** What was allowed then. Null where nothing was. */
  limit?: number | null;
  /** Whether the value stands out, such as one that passed its limit. */
  isMarked?: boolean;
}

interface ChartProps {
  label: string;
  /** In the order of time. */
  points: readonly Point[];
  show(value: number): string;
}

const step = 12;
const barWidth = 8;
const height = 100;

/**
 * Bars of a figure over time, drawn by the server, with a line of its limits. The page has a table of the same figures
 * for whoever does not see them.
 */
export function Chart({ label, points, show }: ChartProps) {
  const most = Math.max(...points.flatMap(({ value, limit }) => [value, limit ?? 0]), Number.MIN_VALUE);
  const y = (value: number) => height - (value / most) * height;
  const hasLimit = points.some(({ limit }) => limit != null);
  const [first, last] = [points[0], points.at(-1)];
  return (
    <figure class="chart">
      <p class="most quiet">{show(most)}</p>
      <svg
        viewBox={`0 0 ${points.length * step} ${height}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`${label}: ${points.length} valores, el último ${show(last?.value ?? 0)}. La tabla los tiene todos.`}
      >
        {points.map(({ name, value, limit, isMarked }, index) => {
          const x = index * step;
          // A small value is still seen, and zero is not.
          const size = value === 0 ? 0 : Math.max(1, height - y(value));
          return (
            <g key={name}>
              <rect
                class={isMarked === true ? 'marked' : undefined}
                x={x + (step - barWidth) / 2}
                y={height - size}
                width={barWidth}
                height={size}
              >
                <title>{`${name}: ${show(value)}`}</title>
              </rect>
              {limit != null && <line class="limit" x1={x} x2={x + step} y1={y(limit)} y2={y(limit)} />}
            </g>
          );
        })}
      </svg>
      <figcaption class="quiet">
        <span>{first?.name}</span>
        {hasLimit && <span>La línea es lo permitido.</span>}
        <span>{last === first ? '' : last?.name}</span>
      </figcaption>
    </figure>
  );
}
