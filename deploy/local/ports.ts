import { randomInt } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir, userInfo } from 'node:os';
import path from 'node:path';
import { z } from 'zod';
import { LockHeldError, readJsonFile, takeLock, writeJsonFile } from './process.ts';

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
  // The api's second listener, for operators.
  'operators',
  // These three are the processes' health ports. Only the api has other ports.
  'apiHealth',
  'consumers',
  'worker',
] as const;
type PortName = (typeof portNames)[number];
export type Ports = Record<PortName, number>;

// The ports lie below the range for outgoing connections (from 32768 on Linux, 49152 on macOS). A client that retries a
// stopped engine may get a port of that range as its own. If this is the engine's port, the client connects to itself,
// and the engine cannot start again.
const lowestPort = 15_000;
const highestPort = 31_999;
const maxTries = 1000;

const portsSchema = z.partialRecord(z.enum(portNames), z.number().int().min(1).max(65_535));

export interface ChosenPorts {
  ports: Ports;
  /** Gives the ports back. Call it when nothing listens on them any more. */
  release(): void;
}

/**
 * Chooses a free loopback port for every name. A port that the last start wrote to `file` is kept if it is free, so
 * that clients of a crashed stack find the new stack. An engine listens on its port only seconds later. Until then a
 * lock file claims the port, so two stacks of this account never choose the same port.
 */
export async function choosePorts(file: string): Promise<ChosenPorts> {
  const kept = readJsonFile(file, portsSchema) ?? {};
  const chosen: Partial<Ports> = {};
  const claims: Claim[] = [];
  for (const name of portNames) {
    const before = kept[name];
    const claim = (before === undefined ? undefined : await claimIfFree(before)) ?? (await claimAny());
    claims.push(claim);
    chosen[name] = claim.port;
  }
  writeJsonFile(file, chosen);
  return { ports: chosen as Ports, release: () => claims.forEach((claim) => void claim.release()) };
}

interface Claim {
  port: number;
  release(): void;
}

/** Claims so many free loopback ports, for engines that a test starts itself. */
export async function claimPorts(count: number): Promise<{ ports: number[]; release(): void }> {
  const claims: Claim[] = [];
  while (claims.length < count) claims.push(await claimAny());
  return { ports: claims.map(({ port }) => port), release: () => claims.forEach((claim) => void claim.release()) };
}

async function claimAny(): Promise<Claim> {
  for (let attempt = 0; attempt < maxTries; attempt++) {
    const claim = await claimIfFree(randomInt(lowestPort, highestPort + 1));
    if (claim) return claim;
  }
  throw new Error(`no free port found between ${lowestPort} and ${highestPort}`);
}

/** Claims a port with a lock file, if the port is free. The lock of a process that died is taken over. */
async function claimIfFree(port: number): Promise<Claim | undefined> {
  const folder = path.join(tmpdir(), `padron-ports-${userInfo().uid}`);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  let release: () => void;
  try {
    release = takeLock(path.join(folder, String(port)));
  } catch (error) {
    if (error instanceof LockHeldError) return undefined;
    throw error;
  }
  if (await isFree(port)) return { port, release };
  release();
  return undefined;
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen({ port, host: '127.0.0.1' }, () => server.close(() => resolve(true)));
  });
}
