import type { ChildProcess } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { makeAuthority } from './authority.ts';
import { forkReceivers, killProcess } from './receivers.ts';

const lookEveryMs = 200;

/** A receiver that writes every delivery id to a file before it answers, so a kill loses no answered delivery. */
export class KillableReceiver {
  readonly #options: Parameters<typeof forkReceivers>[0];
  readonly caPem: string;
  readonly origin: string;
  #process: ChildProcess;

  private constructor(
    options: Parameters<typeof forkReceivers>[0],
    caPem: string,
    started: { receivers: ChildProcess; port: number },
  ) {
    this.#options = { ...options, port: started.port };
    this.caPem = caPem;
    this.origin = `https://127.0.0.1:${started.port}`;
    this.#process = started.receivers;
  }

  static async start(ledgerFile: string): Promise<KillableReceiver> {
    // OpenSSL looks an authority up by its name, so two receivers need two names.
    const authority = await makeAuthority(`Receivers of ${path.basename(ledgerFile)}`);
    const options = { ...(await authority.issue({ names: ['127.0.0.1'] })), ledgerFile };
    return new KillableReceiver(options, authority.caPem, await forkReceivers(options));
  }

  /** Delivery ids in order of arrival, repeats included. */
  arrivals(): string[] {
    return readFileSync(this.#options.ledgerFile!, 'utf8').split('\n').filter(Boolean);
  }

  async kill(): Promise<void> {
    await killProcess(this.#process);
  }

  async restart(): Promise<void> {
    this.#process = (await forkReceivers(this.#options)).receivers;
  }

  /** Waits until all of these have arrived or the time is up. */
  async waitForAll(expected: ReadonlySet<string>, timeoutMs: number): Promise<void> {
    for (const until = Date.now() + timeoutMs; Date.now() < until; await sleep(lookEveryMs)) {
      const arrived = new Set(this.arrivals());
      if ([...expected].every((id) => arrived.has(id))) return;
    }
  }
}
