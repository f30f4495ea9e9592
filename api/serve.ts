import { randomUUID } from 'node:crypto';
import { createServer, type RequestListener, type Server, type ServerResponse, STATUS_CODES } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import type { ClickHouseClient } from '../pipelines/runtime/clickhouse.ts';
import type { Logger } from '../pipelines/runtime/log.ts';
import type { RegisterName } from '../schemas/registers.ts';
import type { Catalogue } from './catalogue.ts';
import { ApiProblem, problemBody } from './problems.ts';

/** Of a request's address and headers together. */
const maxHeadBytes = 16 * 1_024;

/** For a refused caller to stop sending and read why. */
const lingerMs = 1_000;

interface RefusedRequests {
  /** Where the types of problems are explained, without a slash at its end; empty: relative to this server. */
  baseUrl: string;
  /** Takes one line for each. */
  log: Logger;
}

/**
 * Answers what the server's parser refuses and no route ever sees: no HTTP, too large, too slow; an address with a ñ or an
 * accent as it is typed, which curl sends, is told what is wrong with it. The connection is closed.
 */
function answerMalformed(server: Server, { baseUrl, log }: RefusedRequests): void {
  const answering = new WeakMap<Duplex, ServerResponse>();
  server.prependListener('request', (request, response) => {
    answering.set(request.socket, response);
    response.once('close', () => answering.delete(request.socket));
  });
  const refused = new WeakSet<Duplex>();
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    // More bytes of what was refused.
    if (refused.has(socket)) return;
    // Bytes into an answer that has begun would be read as its own.
    if (!socket.writable || answering.get(socket)?.headersSent === true) return void socket.destroy(error);
    refused.add(socket);
    const problem = problemOf(error.code ?? '', server);
    const requestId = randomUUID();
    socket.end(answerOf(problem, baseUrl, requestId));
    // Closed while bytes are still coming, the connection would be reset, and the answer lost with it.
    setTimeout(() => socket.destroy(), lingerMs).unref();
    log.info({ request_id: requestId, status: problem.status, code: problem.code, parser: error.code }, 'request');
  });
}

/** By Node's own codes. */
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
  /** Takes no more connections, and ends them all once the requests under way are answered. */
  stop(): Promise<void>;
}

export interface ServeOptions extends RefusedRequests {
  host: string;
  /** 0: a free one. */
  port: number;
  /** For a whole request to arrive. */
  requestTimeoutMs?: number;
}

/**
 * Listens. The stop closes connections by itself: the server would wait for those that have not sent a request yet, which
 * clients and balancers open ahead, until their keep-alive is over.
 * @throws what the port's owner makes it throw
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
      // The app asks for it, and answers with a body.
      requireHostHeader: false,
    },
    listener,
  );
  // An expectation that nobody knows may be passed over; the server by itself would refuse it without a body.
  server.on('checkExpectation', (request, response) => server.emit('request', request, response));
  answerMalformed(server, options);
  let underway = 0;
  let isStopping = false;
  const closeWhenAnswered = () => {
    if (isStopping && underway === 0) server.closeAllConnections();
  };
  server.prependListener('request', (_, response) => {
    underway += 1;
    response.once('close', () => {
      underway -= 1;
      closeWhenAnswered();
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, resolve);
  });
  return {
    port: (server.address() as AddressInfo).port,
    stop: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeIdleConnections();
        isStopping = true;
        closeWhenAnswered();
      }),
  };
}

/** null: ready for look-ups. Text: what is missing; a store that does not answer, or a required register never loaded. */
export function makeReadiness(
  catalogue: Catalogue,
  clickhouse: ClickHouseClient,
  required: readonly RegisterName[],
): () => Promise<string | null> {
  return async () => {
    const served = await catalogue.snapshot().catch(() => null);
    if (served === null) return 'PostgreSQL does not answer';
    const missing = required.filter((register) => served[register] === undefined);
    if (missing.length > 0) return `no materialised edition yet of: ${missing.join(', ')}`;
    const answer = await clickhouse.ping();
    return answer.success ? null : 'ClickHouse does not answer';
  };
}
