import type { IncomingHttpHeaders } from 'node:http';

// Conditional requests (RFC 9110, section 13): whether the answer that a client has stored is still current.

export type Conditions = Pick<IncomingHttpHeaders, 'if-none-match' | 'if-modified-since'>;

/**
 * Whether the stored answer is current, so that 304 can be sent. If-None-Match wins, and then If-Modified-Since counts
 * for nothing (section 13.2.2).
 * @param modifiedMs when the answer last changed (`wholeSecondFrom`); null if that is not known
 */
export function isCurrent(conditions: Conditions, etag: string, modifiedMs: number | null): boolean {
  const tags = conditions['if-none-match'];
  if (tags !== undefined) return isMatch(tags, etag);
  const since = conditions['if-modified-since'];
  if (since === undefined || modifiedMs === null) return false;
  const sinceMs = readHttpDate(since, Date.now());
  return sinceMs !== null && sinceMs >= modifiedMs;
}

/** Whether If-None-Match is `*` or lists `etag`, with its `W/` or without (the weak comparison of section 13.1.2). */
function isMatch(header: string, etag: string): boolean {
  const opaqueOf = (tag: string) => tag.replace(/^W\//, '');
  return header.split(',').some((each) => each.trim() === '*' || opaqueOf(each.trim()) === opaqueOf(etag));
}

/**
 * Rounds the time of a change up to a whole second, in milliseconds since 1970. HTTP dates have no fractions, and a
 * client may have stored the answer from before the change in the same second. Such a client then gets the whole answer
 * once more. Rounded down, the client would get a wrong 304.
 */
export function wholeSecondFrom(time: Date): number {
  return Math.ceil(time.getTime() / 1_000) * 1_000;
}

const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];
const month = `(?<month>${months.join('|')})`;
const time = String.raw`(?<hour>\d\d):(?<minute>\d\d):(?<second>\d\d)`;

/**
 * The forms of a date that a recipient must read (RFC 9110 5.6.7): the one that is written today, RFC 850's and
 * asctime's.
 */
const forms = [
  new RegExp(String.raw`^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), (?<day>\d\d) ${month} (?<year>\d{4}) ${time} GMT$`),
  new RegExp(String.raw`^(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day, (?<day>\d\d)-${month}-(?<year>\d\d) ${time} GMT$`),
  new RegExp(String.raw`^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) ${month} (?<day>[ \d]\d) ${time} (?<year>\d{4})$`),
];

/**
 * Reads the date of a header, in milliseconds since 1970. Returns null for any other text, which must be ignored.
 * Date.parse is not used, because it accepts far more texts, and reads the form of asctime as the machine's local time.
 */
export function readHttpDate(text: string, nowMs: number): number | null {
  const parts = forms.map((form) => form.exec(text)?.groups).find((groups) => groups !== undefined);
  if (parts === undefined) return null;
  const year = parts.year!.length === 2 ? fullYear(Number(parts.year), nowMs) : Number(parts.year);
  const [day, hour, minute, second] = [parts.day, parts.hour, parts.minute, parts.second].map(Number);
  const at = new Date(Date.UTC(year, months.indexOf(parts.month!), day, hour, minute, second));
  // Date.UTC turns 30 February into 2 March, and 25:00 into 1:00 of the next day. Then `at` has another day or hour.
  const isReal = at.getUTCDate() === day && at.getUTCHours() === hour && at.getUTCMinutes() === minute;
  return isReal ? at.getTime() : null;
}

/** A year of two digits that would be more than 50 years ahead is the last past year with these digits. */
function fullYear(lastTwo: number, nowMs: number): number {
  const thisYear = new Date(nowMs).getUTCFullYear();
  const inThisCentury = thisYear - (thisYear % 100) + lastTwo;
  return inThisCentury > thisYear + 50 ? inThisCentury - 100 : inThisCentury;
}
