import { randomUUID } from 'node:crypto';
import { createServer, type RequestListener, type Server, type ServerResponse, STATUS_CODES } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type { EngineWatch } from '../pipelines/runtime/engines/watch.ts';
import type { Logger } from '../pipelines/runtime/log.ts';
import type { RegisterName } from '../schemas/registers.ts';
import type { Catalogue } from './catalogue.ts';
import { ApiProblem, problemBody } from './problems.ts';
import type { Stores } from './stores/stores.ts';

/** Largest size of a request's address and headers together. */
const maxHeadBytes = 16 * 1_024;

/** Time in which a refused caller can stop sending and read the answer. */
const lingerMs = 1_000;

interface RefusedRequests {
  /** Address of the pages that explain problems, without a slash at its end. Empty means that links have no host. */
  baseUrl: string;
  /** Gets one line per refused request. */
  log: Logger;
}

/**
 * Answers requests that the server's parser refuses before any route gets them: not HTTP, too large or too slow. An
 * address with an unencoded ñ or accent, as curl sends it, gets an answer about encoding. The connection is closed.
 */
function answerMalformed(server: Server, { baseUrl, log }: RefusedRequests): void {
  const answering = new WeakMap<Duplex, ServerResponse>();
  server.prependListener('request', (request, response) => {
    answering.set(request.socket, response);
    response.once('close', () => answering.delete(request.socket));
  });
  const refused = new WeakSet<Duplex>();
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    // These are further bytes of a request that was already refused.
    if (refused.has(socket)) return;
    // When an answer has begun, the client would read the error's bytes as part of that answer.
    if (!socket.writable || answering.get(socket)?.headersSent === true) return void socket.destroy(error);
    refused.add(socket);
    const problem = problemOf(error.code ?? '', server);
    const requestId = randomUUID();
    socket.end(answerOf(problem, baseUrl, requestId));
    // The socket is destroyed a little later. If that happened while bytes of the request still arrive, the connection
    // would be reset, and the caller would lose the answer.
    setTimeout(() => socket.destroy(), lingerMs).unref();
    log.info({ request_id: requestId, status: problem.status, code: problem.code, parser: error.code }, 'request');
  });
}

/** Maps an error code of Node to a problem. */
function problemOf(code: string, { requestTimeout }: Server): ApiProblem {
  switch (code) {
    case 'HPE_INVALID_URL':
      return new ApiProblem(
        'parametro_invalido',
        'La dirección trae letras que deben ir codificadas: ñ es %C3%B1, un espacio es %20. Con curl: -G --data-urlencode "q=compañía".',
      );
    case 'HPE_HEADER_OVERFLOW':
      return new ApiProblem(
        'cabeceras_demasiado_grandes',
        `La dirección y las cabeceras admiten juntas hasta ${maxHeadBytes / 1_024} kB.`,
      );
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return new ApiProblem(
        'peticion_incompleta',
        `La petición no llegó completa en ${requestTimeout / 1_000} segundos.`,
      );
    default:
      return new ApiProblem(
        'peticion_mal_formada',
        'Lo que llegó no es una petición HTTP/1.1 bien formada. En la dirección, un espacio va como %20.',
      );
  }
}

function answerOf(problem: ApiProblem, baseUrl: string, requestId: string): string {
  const body = JSON.stringify(problemBody(problem, { baseUrl, instance: '/', requestId }));
  const lines = [
    `HTTP/1.1 ${problem.status} ${STATUS_CODES[problem.status]}`,
    'Connection: close',
    `Date: ${new Date().toUTCString()}`,
    'Content-Type: application/problem+json',
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Cache-Control: no-store',
    'Content-Language: es',
    `X-Request-Id: ${requestId}`,
  ];
  return `${lines.join('\r\n')}\r\n\r\n${body}`;
}

export interface Serving {
  port: number;
  /**
   * From now on every answer closes its connection. Resolves after `ms`, in which the server accepts connections as
   * before, so that clients move to other servers before `stop` cuts the connections that stayed idle.
   */
  drain(ms: number): Promise<void>;
  /** Stops accepting connections, and closes all connections once the requests in flight are answered. */
  stop(): Promise<void>;
}

interface ServeOptions extends RefusedRequests {
  host: string;
  /** With 0 the system chooses a free port. */
  port: number;
  /** Time in which a whole request must arrive. */
  requestTimeoutMs?: number;
}

/**
 * Starts to listen. `stop` waits for the answers of running requests and then closes all connections. Otherwise the
 * server would wait until keep-alive ends, because clients and load balancers open connections in advance.
 * @throws when the port cannot be opened
 */
export async function serve(listener: RequestListener, options: ServeOptions): Promise<Serving> {
  const { host, port, requestTimeoutMs = 30_000 } = options;
  const server = createServer(
    {
      keepAliveTimeout: 65_000,
      requestTimeout: requestTimeoutMs,
      headersTimeout: requestTimeoutMs,
      connectionsCheckingInterval: Math.min(requestTimeoutMs, 5_000),
      maxHeaderSize: maxHeadBytes,
      // The app itself checks the header Host and answers with a body.
      requireHostHeader: false,
    },
    listener,
  );
  // An unknown Expect header may be ignored. Without this listener such a request would be refused without a body.
  server.on('checkExpectation', (request, response) => server.emit('request', request, response));
  answerMalformed(server, options);
  const inFlight = new Set<ServerResponse>();
  let isDraining = false;
  let isStopping = false;
  const closeWhenAnswered = () => {
    if (isStopping && inFlight.size === 0) server.closeAllConnections();
  };
  server.prependListener('request', (_, response) => {
    inFlight.add(response);
    if (isDraining) closeAfter(response);
    response.once('close', () => {
      inFlight.delete(response);
      closeWhenAnswered();
    });
  });
  const startDraining = () => {
    isDraining = true;
    for (const response of inFlight) closeAfter(response);
  };
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, resolve);
  });
  return {
    port: (server.address() as AddressInfo).port,
    drain: async (ms) => {
      startDraining();
      await sleep(ms);
    },
    stop: () =>
      new Promise<void>((resolve) => {
        startDraining();
        server.close(() => resolve());
        server.closeIdleConnections();
        isStopping = true;
        closeWhenAnswered();
      }),
  };
}

function closeAfter(response: ServerResponse): void {
  if (!response.headersSent) response.setHeader('Connection', 'close');
}

interface ReadinessDependencies {
  engines: Pick<EngineWatch, 'problem'>;
  catalogue: Catalogue;
  stores: Pick<Stores, 'problem' | 'schemaLevel'>;
  required: readonly RegisterName[];
}

/**
 * Makes a check that returns null when this process is ready for look-ups. Otherwise the check returns a text: which
 * store refuses us, does not answer or has an older schema, which required registers were never loaded, or which served
 * data ClickHouse lost. Of several ClickHouse replicas, one whole one is enough.
 */
export function makeReadiness(dependencies: ReadinessDependencies): () => Promise<string | null> {
  const { engines, catalogue, stores, required } = dependencies;
  return async () => {
    const refusal = engines.problem(['PostgreSQL', 'ClickHouse']);
    if (refusal !== null) return refusal;
    // A store that does not answer at all is found below.
    const older = await stores.schemaLevel.problem().catch(() => null);
    if (older !== null) return older;
    const served = await catalogue.snapshot().catch(() => null);
    if (served === null) return 'PostgreSQL does not answer';
    const missing = required.filter((register) => served[register] === undefined);
    if (missing.length > 0) return `no materialised edition yet of: ${missing.join(', ')}`;
    return stores.problem();
  };
}
