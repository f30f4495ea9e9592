import type { ComponentChildren } from 'preact';
import { limaTime } from '../../schemas/lima-time.ts';
import { limaMoment } from './formats.ts';
import { useSurroundings } from './surroundings.ts';

// Parts that pages are made of. Their looks are in assets/parts.css.

/**
 * A link to a page of ours. Links to the page itself and to those above it are marked.
 * @param to path and query; a part behind `#` may follow
 * @param isAlone set among pages of one thing, where the page above the others is one of them and not above them
 */
export function Link({ to, children, isAlone = false, ...more }: LinkProps) {
  const { prefix, path } = useSurroundings();
  const isAbove = !isAlone && to !== '/' && path.startsWith(`${to}/`);
  return (
    <a href={`${prefix}${to}`} aria-current={to === path ? 'page' : isAbove ? 'true' : undefined} {...more}>
      {children}
    </a>
  );
}

interface LinkProps {
  to: string;
  isAlone?: boolean;
  class?: string;
  children: ComponentChildren;
}

/** Code that is wider than the page scrolls, also with the keyboard. */
export function Code({ label, children }: { label: string; children: string }) {
  // What scrolls must be reached with the keyboard.
  return (
    <section class="code-box" aria-label={label} tabindex={0}>
      <pre>
        <code>{children}</code>
      </pre>
    </section>
  );
}

/** A table that scrolls when it is wider than the page. With `stacked`, rows become cards on a phone. */
export function Table({ label, columns, stacked = false, children }: TableProps) {
  return (
    <section class={stacked ? 'table stacked' : 'table'} aria-label={label} tabindex={0}>
      <table>
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column.name} scope="col" class={column.isNumber === true ? 'number' : undefined}>
                {column.name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </section>
  );
}

interface TableProps {
  label: string;
  columns: readonly { name: string; isNumber?: boolean }[];
  stacked?: boolean;
  children: ComponentChildren;
}

/** Our own texts mark code with backticks. */
export function Marked({ text }: { text: string }) {
  return <>{text.split(/`([^`]+)`/).map((part, index) => (index % 2 === 1 ? <code key={part}>{part}</code> : part))}</>;
}

/** Names and their values, one below the other. */
export function Facts({ facts }: { facts: readonly (readonly [name: string, value: ComponentChildren])[] }) {
  return (
    <dl class="facts">
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

/** A moment in Lima, to the minute. */
export function Moment({ at }: { at: Date }) {
  return (
    <time dateTime={limaTime(at)} class="tabular">
      {limaMoment(at)}
    </time>
  );
}
