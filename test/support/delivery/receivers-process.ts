import { openSync, writeSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { z } from 'zod';

/**
 * The customers' receivers in one process, so that no other work delays the time recorded for an arrival. Start it with
 * `fork(file, [json])`. Paths below /hang never answer, all others answer 204 at once. On the message `take` it sends
 * what arrived since the last one.
 */
export interface Arrival {
  path: string;
  deliveryId: string;
  /** When the first byte arrived, in fractional ms since 1970. */
  at: number;
}

export interface TakenArrivals {
  arrivals: Arrival[];
  /** TLS handshakes so far. */
  handshakes: number;
}

const { certificatePem, keyPem, port, ledgerFile } = z
  .object({
    certificatePem: z.string(),
    keyPem: z.string(),
    port: z.number().default(0),
    /** Every delivery id is appended here before the answer, so it survives however the process ends. */
    ledgerFile: z.string().optional(),
  })
  .parse(JSON.parse(process.argv[2]!));
let arrivals: Arrival[] = [];
let handshakes = 0;
const ledger = ledgerFile === undefined ? null : openSync(ledgerFile, 'a');

const server = createServer({ cert: certificatePem, key: keyPem, keepAlive: true }, (request, response) => {
  const path = request.url ?? '/';
  const deliveryId = String(request.headers['x-service-delivery']);
  arrivals.push({ path, deliveryId, at: performance.timeOrigin + performance.now() });
  if (ledger !== null) writeSync(ledger, `${deliveryId}\n`);
  request.resume();
  if (!path.startsWith('/hang')) request.once('end', () => response.writeHead(204).end());
});
server.on('secureConnection', () => {
  handshakes += 1;
});
server.listen(port, '127.0.0.1', () => process.send!({ port: (server.address() as AddressInfo).port }));
process.on('message', (message) => {
  if (message !== 'take') return;
  process.send!({ arrivals, handshakes } satisfies TakenArrivals);
  arrivals = [];
});
process.on('disconnect', () => process.exit(0));
