import {
  connect as connectHttp2,
  createSecureServer,
  type IncomingHttpHeaders,
  type ServerHttp2Stream,
} from 'node:http2';
import { relayOf, type TlsRelay, type TlsRelayOptions } from './tls-relay.ts';

/** What gRPC answers when a login is refused. */
const unauthenticated = 16;
/** Headers of a connection, which HTTP/2 does not pass on. */
const own = new Set([':scheme', ':authority', 'connection', 'transfer-encoding']);

/** Starts a relay for an engine that speaks gRPC without TLS. @param address host:port of the engine */
export async function startGrpcRelay(address: string, options: TlsRelayOptions): Promise<TlsRelay> {
  const { authorize = () => true, certificate, seen } = options;
  const upstream = connectHttp2(`http://${address}`);
  upstream.on('error', () => {});
  const server = createSecureServer({ cert: certificate.certificatePem, key: certificate.keyPem });
  server.on('sessionError', () => {});
  server.on('stream', (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => {
    stream.on('error', () => {});
    seen?.(String(headers[':path']));
    if (!authorize(headers.authorization)) {
      const refused = { 'grpc-status': String(unauthenticated), 'grpc-message': 'wrong key' };
      stream.respond({ ':status': 200, 'content-type': 'application/grpc', ...refused }, { endStream: true });
      return;
    }
    pass(stream, headers);
  });
  const pass = (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => {
    const request = upstream.request(Object.fromEntries(Object.entries(headers).filter(([name]) => !own.has(name))));
    request.on('error', () => stream.close());
    stream.on('close', () => request.close());
    request.on('response', (answer) => {
      const { ':status': status, ...rest } = answer;
      // An answer without a body ends with its first headers, and gRPC's status stands in them.
      if (request.readableEnded || 'grpc-status' in rest) {
        stream.respond({ ':status': status, ...rest }, { endStream: true });
        return;
      }
      stream.respond({ ':status': status, ...rest }, { waitForTrailers: true });
      let trailers = {};
      request.on('trailers', (given) => {
        trailers = given;
      });
      stream.on('wantTrailers', () => stream.sendTrailers(trailers));
      request.pipe(stream);
    });
    stream.pipe(request);
  };
  const relay = await relayOf(server);
  return {
    ...relay,
    stop: async () => {
      upstream.destroy();
      await relay.stop();
    },
  };
}
