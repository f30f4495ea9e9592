import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { repositoryRoot } from '../../../deploy/local/config.ts';
import { answersOk } from '../../../deploy/local/engines/context.ts';
import { spawnClickhouse, startClickhouse } from '../../support/engines/clickhouse.ts';

const restartAfterMs = 1_000;

/** A ClickHouse process on one port that can be killed, started again and lose its disk. */
export class ReplicaHost {
  readonly name: string;
  readonly url: string;
  readonly #data: string;
  #child: ChildProcess;

  private constructor(name: string, url: string, data: string, child: ChildProcess) {
    this.name = name;
    this.url = url;
    this.#data = data;
    this.#child = child;
  }

  static async start(name: string, data: string): Promise<ReplicaHost> {
    const { url, child } = await startClickhouse(data);
    return new ReplicaHost(name, url, data, child);
  }

  async kill(): Promise<void> {
    await killed(this.#child);
  }

  async restart(): Promise<void> {
    const { port, origin } = new URL(this.url);
    this.#child = spawnClickhouse(['--data', this.#data, '--port', port]);
    for (const stream of [this.#child.stdout!, this.#child.stderr!]) stream.resume();
    while (!(await answersOk(`${origin}/ping`).catch(() => false))) await sleep(100);
  }

  loseDisk(): void {
    rmSync(this.#data, { recursive: true, force: true });
  }
}

/** A process of the product beside those that the chain runs. It is started again when it ends, as by an orchestrator. */
export class ExtraProcess {
  readonly #program: string;
  readonly #environment: Record<string, string>;
  readonly #log: (line: string) => void;
  #child: ChildProcess | undefined;
  #isWanted = false;

  constructor(program: string, environment: Record<string, string>, log: (line: string) => void) {
    this.#program = program;
    this.#environment = environment;
    this.#log = log;
  }

  start(): void {
    this.#isWanted = true;
    const child = spawn(process.execPath, ['--import', 'tsx', this.#program], {
      cwd: repositoryRoot,
      env: this.#environment,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (chunk) => {
        output = `${output}${chunk}`.slice(-20_000);
      });
    }
    child.once('exit', async (code) => {
      if (!this.#isWanted || child !== this.#child) return;
      const reason = output.split('\n').findLast((line) => line.includes('"fatal"')) ?? output.slice(-500);
      this.#log(`${this.#program} ended with ${code} and is started again: ${reason.slice(0, 500)}`);
      await sleep(restartAfterMs);
      if (this.#isWanted) this.start();
    });
    this.#child = child;
  }

  async kill(): Promise<void> {
    this.#isWanted = false;
    if (this.#child !== undefined) await killed(this.#child);
  }
}

async function killed(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = once(child, 'exit');
  child.kill('SIGKILL');
  await exit;
}
