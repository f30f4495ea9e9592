import { randomUUID } from 'node:crypto';
import { type Server, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Logger } from '../pipelines/runtime/log.ts';
import { ApiProblem, problemBody } from './problems.ts';

/** Of a request's address and headers together. */
export const maxHeadBytes = 16 * 1_024;

/** For a refused caller to stop sending and read why. */
const lingerMs = 1_000;

export interface RefusedRequests {
  /** Where the types of problems are explained, without a slash at its end; empty: relative to this server. */
  baseUrl: string;
  /** Takes one line for each. */
  log: Logger;
}

/**
 * Answers what the server's parser refuses and no route ever sees: no HTTP, too large, too slow; an address with a ñ or an
 * accent as it is typed, which curl sends, is told what is wrong with it. The connection is closed.
 */
export function answerMalformed(server: Server, { baseUrl, log }: RefusedRequests): void {
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
