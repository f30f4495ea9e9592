import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { answerMalformed } from './malformed.ts';

export interface Serving {
  port: number;
  /** Takes no more connections, and ends them all once the requests under way are answered. */
  stop(): Promise<void>;
}

/**
 * Listens. The stop closes connections by itself: the server would wait for those that have not sent a request yet, which
 * clients and balancers open ahead, until their keep-alive is over.
 * @param baseUrl where callers reach it, for what is answered to bytes that are no request
 * @throws what the port's owner makes it throw
 */
export async function serve(listener: RequestListener, host: string, port: number, baseUrl = ''): Promise<Serving> {
  const server = createServer({ keepAliveTimeout: 65_000, requestTimeout: 30_000 }, listener);
  answerMalformed(server, baseUrl);
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
