import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { answerMalformed, maxHeadBytes, type RefusedRequests } from './malformed.ts';

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
