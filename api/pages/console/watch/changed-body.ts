// How a body differs from the one that was signed. Web frameworks and proxies change bodies without saying so.

export type BodyChange =
  | 'none'
  | 'parsed_again'
  | 'ends_differ'
  | 'byte_order_mark'
  | 'wrong_charset'
  | 'line_ends'
  | 'json_in_text'
  | 'url_encoded'
  | 'html_escaped'
  | 'cut'
  | 'object_text'
  | 'empty'
  | 'other';

interface Original {
  change: BodyChange;
  text: string;
}

/** Undoes each change, in the order in which the explanations are most likely. A change that cannot be undone is left out. */
const undone: readonly [BodyChange, (text: string) => string][] = [
  ['byte_order_mark', (text) => text.replace(/^\uFEFF/, '')],
  ['ends_differ', (text) => text.trim()],
  ['line_ends', (text) => text.replace(/\r\n/g, '\n')],
  ['wrong_charset', (text) => Buffer.from(text, 'latin1').toString('utf8')],
  ['json_in_text', (text) => String(JSON.parse(text))],
  ['url_encoded', (text) => decodeURIComponent(text.replace(/\+/g, ' ').replace(/^[\w-]*=/, ''))],
  ['html_escaped', (text) => unescapeHtml(text)],
  ['parsed_again', (text) => JSON.stringify(JSON.parse(text))],
];

/** Returns the texts that a changed body may have been, each with the change that explains it. */
export function originalBodies(body: string): Original[] {
  return undone.flatMap(([change, undo]) => {
    const text = attempt(() => undo(body));
    return text === null || text === body ? [] : [{ change, text }];
  });
}

/** Explains the difference between the body that was sent and the one that arrived. */
export function changedBody(sent: string, arrived: string): BodyChange {
  if (sent === arrived) return 'none';
  const bare = arrived.trim();
  if (bare === '') return 'empty';
  if (/^\[object \w+\]$/.test(bare)) return 'object_text';
  const undoing = originalBodies(arrived).find(({ text }) => text === sent);
  if (undoing !== undefined) return undoing.change;
  if (isSameJson(sent, bare)) return 'parsed_again';
  // Python prints a dictionary with single quotes, and Ruby with arrows.
  if (/^\{\s*('|:\w|"\w+"\s*=>)/.test(bare)) return 'object_text';
  return sent.startsWith(bare) ? 'cut' : 'other';
}

function isSameJson(one: string, other: string): boolean {
  const texts = [one, other].map((text) => attempt(() => JSON.stringify(sorted(JSON.parse(text)))));
  return texts[0] !== null && texts[0] === texts[1];
}

/** Puts the keys of objects in one order. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1));
  return Object.fromEntries(entries.map(([key, each]) => [key, sorted(each)]));
}

const htmlSigns: Readonly<Record<string, string>> = {
  '&quot;': '"',
  '&#34;': '"',
  '&#39;': "'",
  '&lt;': '<',
  '&gt;': '>',
  '&amp;': '&',
};

function unescapeHtml(text: string): string {
  return text.replace(/&(?:quot|#34|#39|lt|gt|amp);/g, (sign) => htmlSigns[sign]!);
}

function attempt(work: () => string): string | null {
  try {
    return work();
  } catch {
    return null;
  }
}
