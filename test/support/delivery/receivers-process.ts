import { openSync, writeSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { z } from 'zod';

/**
 * Customers' receivers as one process of its own, so that the clock of an arrival waits for nothing else:
 * `fork(file, [json])`. Every path answers 204 at once, one below /hang never. Told `take`, it gives what came since.
 */
export interface Arrival {
  path: string;
  deliveryId: string;
  /** First byte, in ms since 1970 with fractions. */
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
    /** Every delivery id is appended here before the answer: what was answered stands, however the process ends. */
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
