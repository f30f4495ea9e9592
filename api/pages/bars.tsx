import { number } from './formats.ts';

interface Bar {
  name: string;
  value: number;
}

const unitsPerBar = 10;
const barWidth = 8;
const height = 100;

/**
 * A chart of bars, drawn by the server. It always has a table of the same numbers beside it, which its page adds.
 * @param label what is shown, in words
 */
export function Bars({ label, bars }: { label: string; bars: readonly Bar[] }) {
  const most = Math.max(1, ...bars.map(({ value }) => value));
  const [first, last] = [bars[0], bars.at(-1)];
  return (
    <figure class="bars">
      <p class="most quiet">{number(most)}</p>
      <svg
        viewBox={`0 0 ${bars.length * unitsPerBar} ${height}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`${label}. El mayor valor es ${number(most)}.`}
      >
        {bars.map(({ name, value }, index) => {
          // A bar of a small value is still seen, and one of zero is not.
          const size = value === 0 ? 0 : Math.max(1, (value / most) * height);
          const x = index * unitsPerBar + (unitsPerBar - barWidth) / 2;
          return (
            <rect key={name} x={x} y={height - size} width={barWidth} height={size}>
              <title>{`${name}: ${number(value)}`}</title>
            </rect>
          );
        })}
      </svg>
      <figcaption class="quiet">
        <span>{first?.name}</span>
        <span>{last === first ? '' : last?.name}</span>
      </figcaption>
    </figure>
  );
}
