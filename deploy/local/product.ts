import { spawn } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { type Endpoints, readLocalConfig, readOrMakeCredentials, repositoryRoot } from './config.ts';
import { answersOk } from './engines/context.ts';
import type { Log } from './fetch.ts';
import { type ChosenPorts, choosePorts, type Ports } from './ports.ts';
import { type Launch, SupervisedProcess, type SuperviseOptions } from './supervise.ts';

export const processNames = ['api', 'consumers', 'worker'] as const;
export type ProcessName = (typeof processNames)[number];

/** The engines that the product uses and the folder of its files. A `Stack` (stack.ts) can be given as the host. */
export interface ProductHost {
  endpoints: Endpoints;
  /** Holds the product's pid files, logs, ports and encryption key. */
  directory: string;
  ports?: Ports;
}

interface ProductOptions {
  /** Environment variables for all three processes or for one of them. They override the variables of this process. */
  environment?: Partial<Record<'all' | ProcessName, Record<string, string>>>;
  /** Whether to run the migrations first. The default is true. */
  migrate?: boolean;
  log?: Log;
  /** Called when a process ends by itself. That process is not started again. */
  onProcessEnd?(process: ProcessName, description: string): void;
}

const programs: Record<ProcessName, string> = {
  api: 'api/main.ts',
  consumers: 'pipelines/consumers/main.ts',
  worker: 'workflows/main.ts',
};
const readyTimeoutMs = 120_000;
const stopTimeoutMs = 30_000; // longer than a process allows itself for its stop (STOP_DEADLINE_MS)
const migrateTimeoutMs = 120_000;
const answerTimeoutMs = 10_000;
const shownLines = 20;

/**
 * Runs the migrations, starts the three processes and resolves when they are ready. The api counts as ready when the
 * /healthz of its public port answers. Its /readyz fails until the registers are loaded, and only the running product can load them. The
 * other two may also wait for the operator (see `isUp`).
 */
export async function startProduct(host: ProductHost, options: ProductOptions): Promise<Product> {
  const product = new Product(host, options, await portsOf(host));
  await product.start();
  return product;
}

async function portsOf(host: ProductHost): Promise<ChosenPorts> {
  const run = path.join(host.directory, 'run');
  mkdirSync(run, { recursive: true });
  mkdirSync(path.join(host.directory, 'logs'), { recursive: true });
  if (host.ports) return { ports: host.ports, release: () => undefined }; // the stack chose the ports and releases them
  return choosePorts(path.join(run, 'ports.json'));
}

/**
 * Whether the process is ready, or waits for a command that its /readyz names, such as `npx padron editions adopt`. A
 * process that waits counts as up, because an operator can run the command only while the product runs. Otherwise the
 * start would fail, and with it every chance to run the command.
 */
async function isUp(url: string): Promise<boolean> {
  const response = await fetch(url, { signal: AbortSignal.timeout(1000) });
  const body = await response.text();
  return response.ok || body.includes('npx padron ');
}

/** The three running processes of the product. */
export class Product {
  /** Address of the API's public port. */
  readonly apiUrl: string;
  /** Address of the operators' console. */
  readonly operatorsUrl: string;
  /** Address of each process's /healthz, /readyz and /metrics. */
  readonly healthUrls: Record<ProcessName, string>;
  readonly #options: ProductOptions;
  readonly #chosen: ChosenPorts;
  readonly #environment: Record<string, string>;
  readonly #supervise: SuperviseOptions;
  readonly #processes = new Map<ProcessName, SupervisedProcess>();

  constructor(host: ProductHost, options: ProductOptions, chosen: ChosenPorts) {
    const config = readLocalConfig();
    const { encryptionKey } = readOrMakeCredentials(host.directory);
    this.#options = options;
    this.#chosen = chosen;
    const { api, operators, apiHealth, consumers, worker } = chosen.ports;
    this.apiUrl = urlOf(api);
    this.operatorsUrl = urlOf(operators);
    this.healthUrls = { api: urlOf(apiHealth), consumers: urlOf(consumers), worker: urlOf(worker) };
    this.#environment = {
      WEBHOOK_SECRET_KEYS: `local:${encryptionKey}`,
      AUDIT_HMAC_KEY: createHmac('sha256', encryptionKey).update('audit').digest('base64'),
      ...config.environment,
      ...host.endpoints,
      ...options.environment?.all,
      HTTP_HOST: '127.0.0.1',
      HTTP_PORT: String(api),
      OPERATOR_HTTP_HOST: '127.0.0.1',
      OPERATOR_HTTP_PORT: String(operators),
      HEALTH_HOST: '127.0.0.1',
    };
    this.#supervise = {
      runDirectory: path.join(host.directory, 'run'),
      logDirectory: path.join(host.directory, 'logs'),
      searchPath: config.searchPath,
      readyTimeoutMs,
      stopTimeoutMs,
      onUnexpectedEnd: (name, description) => {
        this.#log(description);
        options.onProcessEnd?.(name as ProcessName, description);
      },
    };
  }

  /** The addresses of the processes, under the names that they have in `endpoints.json`. */
  get endpoints() {
    const { api, consumers, worker } = this.healthUrls;
    return {
      PADRON_API_URL: this.apiUrl,
      // Under the name of the setting, so that `padron operators link` finds it.
      OPERATOR_BASE_URL: this.operatorsUrl,
      PADRON_API_HEALTH_URL: api,
      PADRON_CONSUMERS_HEALTH_URL: consumers,
      PADRON_WORKER_HEALTH_URL: worker,
    };
  }

  async start(): Promise<void> {
    try {
      if (this.#options.migrate ?? true) await this.#migrate();
      const outcomes = await Promise.allSettled(processNames.map((name) => this.#start(name)));
      const failed = outcomes.find((outcome) => outcome.status === 'rejected');
      if (failed) throw failed.reason;
    } catch (error) {
      await this.stop();
      throw error;
    }
  }

  /**
   * Returns the api's reason why look-ups do not answer yet, for example registers that were never loaded. Returns null
   * when look-ups answer.
   */
  async awaits(): Promise<string | null> {
    const response = await fetch(`${this.healthUrls.api}/readyz`, { signal: AbortSignal.timeout(answerTimeoutMs) });
    const answer = (await response.json()) as { reason?: string };
    return answer.reason ?? null;
  }

  pid(name: ProcessName): number | undefined {
    const found = this.#processes.get(name);
    return found?.hasEnded ? undefined : found?.pid;
  }

  /** Sends SIGKILL to the process and its children. */
  async kill(name: ProcessName): Promise<void> {
    await this.#processes.get(name)?.kill();
  }

  /** Stops a process if it runs, and starts it again on the same port. */
  async restart(name: ProcessName): Promise<void> {
    await this.#processes.get(name)?.stop();
    await this.#start(name);
  }

  /** The api stops first, so that no request reaches a product that is half stopped. */
  async stop(): Promise<void> {
    for (const name of processNames) {
      const stopped = (await this.#processes.get(name)?.stop()) ?? true;
      if (!stopped) this.#log(`${name}: did not end within ${stopTimeoutMs} ms and was killed`);
    }
    this.#chosen.release();
  }

  async #start(name: ProcessName): Promise<void> {
    const startedAt = Date.now();
    const started = new SupervisedProcess(this.#launch(name), this.#supervise);
    this.#processes.set(name, started);
    await started.waitUntilReady();
    this.#log(`${name}: up in ${((Date.now() - startedAt) / 1000).toFixed(1)} s`);
  }

  #launch(name: ProcessName): Launch {
    return {
      name,
      command: process.execPath,
      args: ['--import', 'tsx', path.join(repositoryRoot, programs[name])],
      environment: {
        ...this.#environment,
        ...this.#options.environment?.[name],
        HEALTH_PORT: String(this.#chosen.ports[name === 'api' ? 'apiHealth' : name]),
      },
      workingDirectory: repositoryRoot,
      stopSignal: 'SIGTERM',
      isReady: () => (name === 'api' ? answersOk(`${this.apiUrl}/healthz`) : isUp(`${this.healthUrls[name]}/readyz`)),
    };
  }

  /** Runs the migrations. If the process dies in the middle, the next start goes on from there. */
  async #migrate(): Promise<void> {
    const startedAt = Date.now();
    const command = path.join(repositoryRoot, 'deploy', 'cli', 'padron.js');
    const child = spawn(process.execPath, ['--import', 'tsx', command, 'migrate'], {
      cwd: repositoryRoot,
      env: this.#environment,
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: migrateTimeoutMs,
    });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (chunk) => {
        output += chunk;
      });
    }
    const [code, signal] = await once(child, 'close');
    if (code !== 0) {
      const shown = output.trimEnd().split('\n').slice(-shownLines).join('\n');
      throw new Error(`the migrations ended with ${code ?? signal}:\n${shown}`);
    }
    this.#log(`migrations: done in ${((Date.now() - startedAt) / 1000).toFixed(1)} s`);
  }

  #log(line: string): void {
    this.#options.log?.(line);
  }
}

function urlOf(port: number): string {
  return `http://127.0.0.1:${port}`;
}
