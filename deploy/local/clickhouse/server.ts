import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { readIncoming, readToNowhere } from './body.ts';
import type { Slots } from './connections.ts';
import type { Engine } from './engine.ts';
import { insert, insertData } from './insert.ts';
import { asFailure, failure, Reply } from './reply.ts';
import { type Account, authenticate, type QueryRequest, readRequest } from './request.ts';
import { select } from './select.ts';

/** Makes the HTTP server of an engine. The caller starts it with `listen`. */
export function makeServer(engine: Engine, account: Account): Server {
  const { limits } = engine;
  const server = createServer({ maxHeaderSize: limits.maxQueryBytes, requestTimeout: 0 }, (message, response) => {
    // Every error of a query is answered, so an error here means that the connection broke during the answer.
    answer(engine, account, message, response).catch(() => response.destroy());
  });
  server.keepAliveTimeout = limits.keepAliveTimeoutMs;
  return server;
}

async function answer(engine: Engine, account: Account, message: IncomingMessage, response: ServerResponse) {
  // Text before the first slash is dropped, because `new URL` would take it as part of the host name. Slashes at the
  // beginning become one slash.
  const url = new URL(`http://localhost${(message.url ?? '/').replace(/^[^/]*\/*/, '/')}`);
  if (url.pathname === '/ping') return void response.end('Ok.\n');
  if (url.pathname === '/replicas_status') return void response.end('Ok.\n');
  const about = { version: engine.version, timezone: engine.timezone };
  const gone = new AbortController();
  response.once('close', () => {
    if (!response.writableFinished) gone.abort();
  });
  let reply = new Reply(response, { ...about, queryId: url.searchParams.get('query_id') ?? '' });
  try {
    authenticate(message, url.searchParams, account);
    const request = readRequest(message, url.searchParams);
    reply = new Reply(response, { ...about, queryId: request.queryId });
    // As on a ClickHouse server, a request that is not a POST may only read, and cannot change that.
    if (message.method !== 'POST') {
      if ((request.settings.get('readonly') ?? '2') !== '2')
        throw failure(164, 'READONLY', "Cannot modify 'readonly' setting in readonly mode");
      request.settings.set('readonly', '2');
    }
    await serve(engine, message, request, reply, gone.signal);
  } catch (error) {
    if (gone.signal.aborted) return;
    await readToNowhere(message, engine.limits.uploadIdleTimeoutMs);
    reply.fail(asFailure(error));
  }
}

async function serve(
  engine: Engine,
  message: IncomingMessage,
  request: QueryRequest,
  reply: Reply,
  signal: AbortSignal,
): Promise<void> {
  const incoming = await readIncoming(message, request.query, engine.limits);
  const { statement } = incoming;
  switch (statement.kind) {
    case 'select': {
      if (!request.hold) return select(engine, request, statement, reply, signal);
      const { body, tail, format } = statement;
      const whole = { text: `${body}\n${tail}`, format, changesConnection: false };
      return inOnePiece(engine, engine.slots.reads, held(engine, request), whole, reply, signal);
    }
    case 'insert-select':
      return insert(engine, request, statement.text, '', reply, signal);
    case 'command':
      return inOnePiece(engine, engine.slots.commands, request, statement, reply, signal);
    case 'insert-data':
      return insertData(engine, request, statement, incoming, reply, signal);
  }
}

/**
 * Limits the result of a SELECT to maxHeldResultBytes of the engine's memory. A larger result fails with 396. If the
 * request sets its own limit, only the request's limit counts.
 */
function held({ limits }: Engine, request: QueryRequest): QueryRequest {
  const limit = [
    ['max_result_bytes', String(limits.maxHeldResultBytes)],
    ['result_overflow_mode', 'throw'],
  ] as const;
  return { ...request, settings: new Map([...limit, ...request.settings]) };
}

/**
 * Runs a statement whose result the engine returns in one buffer, which is faster than a pipe: a SELECT with
 * wait_end_of_query, or a command whose result is short or missing (DDL, SHOW, EXPLAIN, SET and others).
 */
async function inOnePiece(
  engine: Engine,
  slots: Slots,
  request: QueryRequest,
  statement: { text: string; format: string | undefined; changesConnection: boolean },
  reply: Reply,
  signal: AbortSignal,
): Promise<void> {
  const format = statement.format ?? request.defaultFormat;
  const { runs, native, connections } = engine;
  await slots.enter(signal);
  try {
    const result = await connections.use(request, statement.changesConnection, (connection) =>
      runs.during(request.queryId, signal, async ({ tag }) => {
        try {
          return await native.QueryAsyncConnection(connection, `${tag}${statement.text}`, format, request.parameters);
        } catch (error) {
          throw asFailure(error, [tag]);
        }
      }),
    );
    reply.whole(format, result.bytes, result);
  } finally {
    slots.leave();
  }
}
