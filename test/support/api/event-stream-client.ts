import type { TestCaller } from './process.ts';

/** Reads Server-Sent Events as a browser does: an event counts once its blank line has arrived. */
export interface EventStreamClient {
  response: Response;
  events: { id: string; data: string }[];
  /** All events so far. */
  readonly text: string;
  /** Resolves once that many events have arrived, and rejects if the stream ends before. */
  until(count: number): Promise<void>;
  /** Resolves when the server ends the stream or the connection breaks. */
  ended: Promise<void>;
  close(): void;
}

export async function openEventStream(
  by: TestCaller,
  path: string,
  options: { lastEventId?: string; reads?: boolean } = {},
): Promise<EventStreamClient> {
  const cut = new AbortController();
  const response = await by.request(path, {
    signal: cut.signal,
    ...(options.lastEventId === undefined ? {} : { headers: { 'last-event-id': options.lastEventId } }),
  });
  if (response.status !== 200) throw new Error(`the stream answered ${response.status}: ${await response.text()}`);
  const events: EventStreamClient['events'] = [];
  let text = '';
  let rest = '';
  let look = () => {};
  const ended = options.reads === false ? Promise.resolve() : readAll();

  async function readAll(): Promise<void> {
    try {
      const decoder = new TextDecoder();
      for await (const chunk of response.body!) {
        const piece = decoder.decode(chunk, { stream: true });
        text += piece;
        rest += piece;
        for (let end = rest.indexOf('\n\n'); end >= 0; end = rest.indexOf('\n\n')) {
          const fields = new Map(rest.slice(0, end).split('\n').map(fieldOf));
          rest = rest.slice(end + 2);
          if (fields.has('data')) events.push({ id: fields.get('id')!, data: fields.get('data')! });
        }
        look();
      }
    } catch {
      // A cut by this client or by the server ends the stream.
    }
    look();
  }
  let isOver = false;
  void ended.then(() => {
    isOver = true;
    look();
  });
  return {
    response,
    events,
    get text() {
      return text;
    },
    until: (count) =>
      new Promise((resolve, reject) => {
        look = () => {
          if (events.length >= count) resolve();
          else if (isOver) reject(new Error(`the stream ended after ${events.length} events`));
        };
        look();
      }),
    ended,
    close: () => cut.abort(),
  };
}

function fieldOf(line: string): [name: string, value: string] {
  const colon = line.indexOf(':');
  return [line.slice(0, colon), line.slice(colon + 1).replace(/^ /, '')];
}
