import { limaDay } from '../../schemas/lima-time.ts';

const weekMs = 7 * 86_400_000;

/** A lower bound of `day`, written into the statement. A parameter would not do: see keptUnder. */
export function dayText(day: string): string {
  if (!/^[0-9]{4}-[0-9]{2}-[0-9]{2}$/.test(day)) throw new RangeError('a bound of days is no day');
  return `DATE '${day}'`;
}

/**
 * The name under which a connection keeps the plan of a statement with that bound; undefined: planned each time. With the bound
 * as a parameter the one plan that is kept would be of all days that there are: after 13 months it takes a second to make
 * and locks seven thousand tables and indexes, just to be found worse. Bounds are of the last days, but for what was held
 * for long: plans of as many days are not kept. Those of past days go with their connection (maxLifetimeSeconds).
 */
export function keptUnder(statement: string, since: string): string | undefined {
  return since >= limaDay(new Date(Date.now() - weekMs)) ? `${statement} ${since}` : undefined;
}
