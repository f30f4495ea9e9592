import { randomUUID } from 'node:crypto';
import { type Server, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { ApiProblem, problemBody } from './problems.ts';

/** What Node answers to bytes that are no request, by its own codes; 400 to all others. */
const statuses: Readonly<Record<string, number>> = {
  HPE_HEADER_OVERFLOW: 431,
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 413,
  ERR_HTTP_REQUEST_TIMEOUT: 408,
};

const notEncoded =
  'La dirección trae letras que deben ir codificadas: ñ es %C3%B1, un espacio es %20. Con curl: -G --data-urlencode "q=compañía".';

/**
 * Answers what is no HTTP request, as Node does by itself; an address with a ñ or an accent as it is typed, which curl sends and
 * no route ever sees, is told what is wrong with it.
 * @param baseUrl where the types of problems are explained, without a slash at its end
 */
export function answerMalformed(server: Server, baseUrl: string): void {
  const answering = new WeakMap<Duplex, ServerResponse>();
  server.prependListener('request', (request, response) => {
    answering.set(request.socket, response);
    response.once('close', () => answering.delete(request.socket));
  });
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    // Bytes into an answer that has begun would be read as its own.
    const isFree = answering.get(socket)?.headersSent !== true;
    if (socket.writable && isFree) socket.write(answerTo(error.code ?? '', baseUrl));
    socket.destroy(error);
  });
}

function answerTo(code: string, baseUrl: string): string {
  const status = statuses[code] ?? 400;
  const head = `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nConnection: close\r\n`;
  if (code !== 'HPE_INVALID_URL') return `${head}\r\n`;
  const requestId = randomUUID();
  const problem = new ApiProblem('parametro_invalido', notEncoded);
  const body = JSON.stringify(problemBody(problem, { baseUrl, instance: '/', requestId }));
  const headers = [
    'Content-Type: application/problem+json',
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Cache-Control: no-store',
    'Content-Language: es',
    `X-Request-Id: ${requestId}`,
  ];
  return `${head}${headers.join('\r\n')}\r\n\r\n${body}`;
}
