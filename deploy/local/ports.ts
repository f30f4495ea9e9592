import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';
import { z } from 'zod';
import { readJsonFile, writeJsonFile } from './files.ts';

export const portNames = [
  'postgres',
  'kafka',
  'kafkaController',
  'registry',
  'registryManagement',
  'clickhouse',
  'temporal',
  'temporalUi',
  'temporalHttp',
  'temporalMetrics',
  'api',
  'consumers',
  'worker',
] as const;
export type PortName = (typeof portNames)[number];
export type Ports = Record<PortName, number>;

// Below the range that systems hand out to outgoing connections (from 32768 on Linux, 49152 on macOS). A client that
// retries against a stopped engine inside that range can be given the engine's own port as its source, connect to
// itself and so keep the engine from coming back.
const lowestPort = 15_000;
const highestPort = 31_999;
const maxTries = 1000;

const portsSchema = z.partialRecord(z.enum(portNames), z.number().int().min(1).max(65_535));

/**
 * Chooses a free loopback port for every name. The ones written in `file` by the last start are kept where they are
 * still free, so that clients of a crashed stack find it again.
 */
export async function choosePorts(file: string): Promise<Ports> {
  const kept = readJsonFile(file, portsSchema) ?? {};
  const taken = new Set<number>();
  const chosen: Partial<Ports> = {};
  for (const name of portNames) {
    const before = kept[name];
    const port = before !== undefined && !taken.has(before) && (await isFree(before)) ? before : await freePort(taken);
    taken.add(port);
    chosen[name] = port;
  }
  writeJsonFile(file, chosen);
  return chosen as Ports;
}

async function freePort(taken: Set<number>): Promise<number> {
  for (let attempt = 0; attempt < maxTries; attempt++) {
    const port = randomInt(lowestPort, highestPort + 1);
    if (!taken.has(port) && (await isFree(port))) return port;
  }
  throw new Error(`no free port found between ${lowestPort} and ${highestPort}`);
}

export function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen({ port, host: '127.0.0.1' }, () => server.close(() => resolve(true)));
  });
}
