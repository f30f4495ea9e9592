import { Readable } from 'node:stream';
import { lastPosition, pagePayloads } from '../../pipelines/watch/history.ts';
import { oldestCursor } from '../../pipelines/webhooks/retention.ts';
import { streamHeaders, streamQuery } from '../../schemas/http/events.ts';
import { feed } from '../event-stream/feed.ts';
import type { EventStreams } from '../event-stream/streams.ts';
import { ApiProblem } from '../problems.ts';
import { type ApiContext, type ApiMiddleware, type ApiRouter, callerOf, parseInput } from '../request.ts';
import { mayWatch } from './access.ts';
import { type EventParts, eventsPath, filterOf, requireKept } from './events.ts';

export interface StreamParts extends EventParts {
  streams: EventStreams;
}

const header = 'Last-Event-ID';

/** GET /id/v1/watch/eventos/stream: the account's events as they come, as Server-Sent Events. */
export function registerEventStreamRoutes(router: ApiRouter, { identify, pool, streams }: StreamParts): void {
  getOnly(router, `${eventsPath}/stream`, mayWatch(identify), async (context) => {
    const filter = filterOf(parseInput(streamQuery, context.query));
    const caller = callerOf(context);
    const { accountId } = caller;
    const newest = await lastPosition(pool, accountId);
    const start = readLastEventId(context) ?? newest;
    // Further than the account has come: going on from there would pass over events in silence.
    if (start > newest) throw notOfThisStream();
    await requireKept(pool, accountId, start);
    const stream = await streams.open(caller, context.res);
    const source = {
      lastPosition: () => lastPosition(pool, accountId),
      read: (after: number, limit: number) => pagePayloads(pool, accountId, { ...filter, after }, limit),
      isKept: async (after: number) => (await oldestCursor(pool, accountId)) <= after,
    };
    context.status = 200;
    // The third is for proxies that would keep events back until a buffer is full.
    context.set({
      'Content-Type': 'text/event-stream; charset=utf-8',
      'Cache-Control': 'no-store',
      'X-Accel-Buffering': 'no',
    });
    context.body = Readable.from(feed(source, start, { ...stream, limits: streams.limits }));
  });
}

/** null: the client has none, and starts now. @throws ApiProblem parametro_invalido */
function readLastEventId(context: ApiContext): number | null {
  const text = context.get(header);
  if (text === '') return null;
  const { [header]: id } = parseInput(streamHeaders, { [header]: text });
  return Number(id);
}

function notOfThisStream(): ApiProblem {
  const mensaje = 'no es de este flujo';
  return new ApiProblem('parametro_invalido', `${header}: ${mensaje}.`, { errors: [{ campo: header, mensaje }] });
}

/**
 * A GET without HEAD, which the router adds to every GET: where an answer writes something or never ends, its head alone has no
 * use. HEAD is then refused like any other method.
 */
export function getOnly(router: ApiRouter, path: string, ...middleware: ApiMiddleware[]): void {
  router.get(path, ...middleware);
  router.stack.at(-1)!.methods = ['GET'];
}
