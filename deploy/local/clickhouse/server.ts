import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { readIncoming, readToNowhere } from './body.ts';
import type { Slots } from './connections.ts';
import { type Engine, onConnection } from './engine.ts';
import { checkInlineValues, insert, insertData } from './insert.ts';
import { asFailure, Reply } from './reply.ts';
import { type Account, authenticate, type QueryRequest, readRequest } from './request.ts';
import { select } from './select.ts';
import { type Statement, tokens } from './statement.ts';

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
  // `new URL` would read an address that begins with two slashes as another host.
  const url = new URL(`http://localhost${(message.url ?? '/').replace(/^[^/]*\/*/, '/')}`);
  if (url.pathname === '/ping') return void response.end('Ok.\n');
  if (url.pathname === '/replicas_status') return void response.end('Ok.\n');
  const about = { version: engine.version, timezone: engine.timezone };
  const gone = new AbortController();
  response.once('close', () => {
    if (!response.writableFinished) gone.abort();
  });
  let reply = new Reply(response, { ...about, queryId: url.searchParams.get('query_id') ?? '', gzip: false });
  try {
    authenticate(message, url.searchParams, account);
    const request = readRequest(message, url.searchParams);
    reply = new Reply(response, { ...about, queryId: request.queryId, gzip: request.gzip });
    // As on a ClickHouse server, a GET must not change anything. In a session, readonly could not be undone.
    const plain = request.session === undefined && !request.settings.has('readonly');
    if (message.method !== 'POST' && plain) request.settings.set('readonly', '2');
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
  const incoming = await readIncoming(message, request, engine.limits);
  const { statement, text } = incoming;
  switch (statement.kind) {
    case 'select':
      if (request.hold) return heldSelect(engine, request, statement, reply, signal);
      return select(engine, request, statement, reply, signal);
    case 'insert-select':
      return insert(engine, request, statement.text, '', reply, signal);
    case 'kill':
      return killQuery(engine, request, statement.text, reply);
    case 'command':
      return command(engine, request, statement, reply, signal);
    case 'insert-data': {
      if (statement.format !== 'Values' || Object.keys(request.parameters).length === 0)
        return insertData(engine, request, statement, incoming, reply, signal);
      checkInlineValues(text);
      return command(engine, request, { text, format: undefined, changesConnection: false }, reply, signal);
    }
  }
}

/** Runs DDL, SHOW, EXPLAIN, SET and other statements whose result is short, missing, or wanted whole. */
async function command(
  engine: Engine,
  request: QueryRequest,
  about: { text: string; format: string | undefined; changesConnection: boolean },
  reply: Reply,
  signal: AbortSignal,
  slots: Slots = engine.slots.commands,
): Promise<void> {
  await slots.enter(signal);
  const format = about.format ?? request.defaultFormat;
  try {
    const result = await onConnection(engine, request, about.changesConnection, async (connection) => {
      const { runs, native } = engine;
      return runs.during(request.queryId, signal, async ({ tag }) => {
        try {
          return await native.QueryAsyncConnection(connection, `${tag}${about.text}`, format, request.parameters);
        } catch (error) {
          throw asFailure(error, [tag]);
        }
      });
    });
    const { rowsRead, bytesRead, elapsed } = result;
    const summary = { readRows: rowsRead, readBytes: bytesRead, writtenRows: 0, writtenBytes: 0, elapsedS: elapsed };
    reply.whole(format, result.bytes, summary);
  } finally {
    slots.leave();
  }
}

/**
 * Runs a SELECT whose caller wants the whole result at once (wait_end_of_query). The engine returns it in one buffer,
 * which is faster than a pipe.
 * @throws QueryFailure 396 when the result is larger than maxHeldResultBytes in the engine's memory
 */
async function heldSelect(
  engine: Engine,
  request: QueryRequest,
  statement: Statement & { kind: 'select' },
  reply: Reply,
  signal: AbortSignal,
): Promise<void> {
  const limits = new Map([
    ['max_result_bytes', String(engine.limits.maxHeldResultBytes)],
    ['result_overflow_mode', 'throw'],
  ]);
  const limited = { ...request, settings: new Map([...limits, ...request.settings]) };
  const text = `${statement.body}\n${statement.tail}`;
  const about = { text, format: statement.format, changesConnection: false };
  await command(engine, limited, about, reply, signal, engine.slots.reads);
}

/** Uses no slot, because a caller must be able to kill queries when all slots are taken. */
async function killQuery(engine: Engine, request: QueryRequest, text: string, reply: Reply): Promise<void> {
  const format = request.defaultFormat;
  try {
    const bytes = await engine.runs.ask(engine.runs.rewriteKill(text, tokens(text)), format, request.parameters);
    reply.whole(format, bytes, { readRows: 0, readBytes: 0, writtenRows: 0, writtenBytes: 0, elapsedS: 0 });
  } catch (error) {
    throw asFailure(error);
  }
}
