import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { makeAuthority } from './authority.ts';
import type { Arrival, TakenArrivals } from './receivers-process.ts';

/** The customers' receivers in their own process, which records each delivery and its time of arrival. */
export interface Receivers {
  /** https://127.0.0.1:<port> */
  origin: string;
  /** The authority that signed their certificate, for EGRESS_EXTRA_CA. */
  caPem: string;
  /** Returns what arrived since the last call. */
  take: () => Promise<TakenArrivals>;
  /** Calls `take` until `count` arrivals match `isAwaited` or the time is up. Returns everything that arrived. */
  arrivals: (count: number, timeoutMs: number, isAwaited?: (arrival: Arrival) => boolean) => Promise<Arrival[]>;
  close: () => Promise<void>;
}

const receiversFile = fileURLToPath(new URL('./receivers-process.ts', import.meta.url));
const pollMs = 100;

export async function startReceivers(): Promise<Receivers> {
  const authority = await makeAuthority('Receivers');
  const { receivers, port } = await forkReceivers(await authority.issue({ names: ['127.0.0.1'] }));
  const take = async () => {
    receivers.send('take');
    const [taken] = (await once(receivers, 'message')) as [TakenArrivals];
    return taken;
  };
  return {
    origin: `https://127.0.0.1:${port}`,
    caPem: authority.caPem,
    take,
    arrivals: async (count, timeoutMs, isAwaited = () => true) => {
      const found: Arrival[] = [];
      for (const until = Date.now() + timeoutMs; found.filter(isAwaited).length < count && Date.now() < until; ) {
        await sleep(pollMs);
        found.push(...(await take()).arrivals);
      }
      return found;
    },
    close: () => killProcess(receivers),
  };
}

/** Resolves once the receivers listen. */
export async function forkReceivers(options: {
  certificatePem: string;
  keyPem: string;
  port?: number;
  ledgerFile?: string;
}): Promise<{ receivers: ChildProcess; port: number }> {
  const receivers = forkProcess(receiversFile, options);
  const [{ port }] = (await once(receivers, 'message')) as [{ port: number }];
  return { receivers, port };
}

export function forkProcess(file: string, options: object): ChildProcess {
  return fork(file, [JSON.stringify(options)], {
    execArgv: ['--import', 'tsx'],
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  });
}

/** Kills a process with SIGKILL and resolves once it has ended. */
export async function killProcess(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill('SIGKILL');
  await ended;
}
