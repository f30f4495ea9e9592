import { createRequire } from 'node:module';
import { Agent, EventSource } from 'undici';

/** A client that reconnects by itself. `positions` are the ids of the events that it has shown, in order. */
export interface FollowingClient {
  positions: number[];
  close(): void;
}
/** Some libraries show a block without data as an empty message, which a program must leave out. */
const noData = '';

export type Follow = (url: string, token: string) => FollowingClient;

/** Reads the stream as a browser does. undici's EventSource follows WHATWG's rules and its web platform tests. */
const asBrowser: Follow = (url, token) => {
  const agent = new Agent();
  // A page cannot set the header. There a server of the same origin adds it.
  const dispatcher = agent.compose((dispatch) => (options, handler) => {
    const headers = { ...(options.headers as Record<string, string>), authorization: `Bearer ${token}` };
    return dispatch({ ...options, headers }, handler);
  });
  const source = new EventSource(url, { node: { dispatcher } });
  const positions: number[] = [];
  source.addEventListener('message', ({ lastEventId }) => void positions.push(Number(lastEventId)));
  return {
    positions,
    close() {
      source.close();
      void agent.destroy();
    },
  };
};

const load = createRequire(import.meta.url);

// The parts of the libraries that are used here. Their own types need those of a browser.
interface ExtendedEventSource {
  EventSource: new (
    url: string,
    options: { headers: Record<string, string>; disableLogger: true },
  ) => {
    onmessage: ShowMessage<'lastEventId'>;
    close(): void;
  };
}
interface FetchEventSource {
  fetchEventSource(url: string, options: Record<string, unknown> & { onmessage: ShowMessage<'id'> }): Promise<void>;
}
type ShowMessage<Id extends string> = (message: Record<Id | 'data', string>) => void;

const asExtendedEventSource: Follow = (url, token) => {
  const library = load('extended-eventsource') as ExtendedEventSource;
  const headers = { authorization: `Bearer ${token}` };
  const source = new library.EventSource(url, { headers, disableLogger: true });
  const positions: number[] = [];
  source.onmessage = ({ lastEventId, data }) => {
    if (data !== noData) positions.push(Number(lastEventId));
  };
  return { positions, close: () => source.close() };
};

/** The library is made for pages: it needs `window` and `document`, and ends when the server ends the stream. */
const asFetchEventSource: Follow = (url, token) => {
  const library = load('@microsoft/fetch-event-source') as FetchEventSource;
  const stop = new AbortController();
  const positions: number[] = [];
  void library.fetchEventSource(url, {
    headers: { authorization: `Bearer ${token}` },
    signal: stop.signal,
    fetch: globalThis.fetch,
    openWhenHidden: true,
    onmessage: ({ id, data }) => {
      if (data !== noData) positions.push(Number(id));
    },
    onclose: () => {
      throw new Error('the server has ended the stream, so the client connects again');
    },
  });
  return { positions, close: () => stop.abort() };
};

export const clients: readonly (readonly [name: string, follow: Follow])[] = [
  ["a browser's EventSource", asBrowser],
  ['extended-eventsource', asExtendedEventSource],
  ['@microsoft/fetch-event-source', asFetchEventSource],
];
