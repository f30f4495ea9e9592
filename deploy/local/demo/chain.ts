import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { RegisterName } from '../../../schemas/registers.ts';
import { type Addresses, readLocalConfig, repositoryRoot } from '../config.ts';
import { type ProcessName, type Product, startProduct } from '../product.ts';
import { refuseRunning, type Stack, startStack } from '../stack.ts';
import { Customer } from './customer.ts';
import { OfficialSite } from './official-site.ts';
import { type Receiver, startReceiver } from './receiver.ts';
import { type PublishedDay, sitePaths } from './register/day.ts';
import type { Received } from './watched.ts';

export interface PublicationRow {
  id: number;
  register: RegisterName;
  state: string;
  state_reason: string | null;
  fecha_dato: string;
  rows: number;
  rejected: number;
  duplicates: number;
}

/** Engines, product, an official site and a customer's receiver, all running on loopback. */
export interface Chain {
  stack: Stack;
  product: Product;
  site: OfficialSite;
  receiver: Receiver;
  customer: Customer;
  token: string;
  /** Each delivery, with whether its signature is valid and whether a look-up on its arrival showed the new state. */
  received: Received[];
  /** The environment variables with which the command `padron` runs. */
  environment: Record<string, string>;
  /**
   * Shows the day on the official site, fetches all its registers at the same time, and waits until each publication is
   * settled (`isSettled` in deploy/cli/publications/follow.ts).
   */
  publishDay(day: PublishedDay, onLine?: (line: string) => void): Promise<PublicationRow[]>;
  stop(): Promise<void>;
}

interface ChainOptions {
  /** Folder of the engines' data and of the receiver's certificate. It is emptied first. */
  directory: string;
  log: (line: string) => void;
  /** Called between two steps of the start. It throws when the start must not go on. */
  checkStopped?: () => void;
  /** Environment variables that the product's processes and `padron` get besides those that the chain itself sets. */
  environment?: Record<string, string>;
  /** Addresses of engines that run elsewhere and are not started. */
  addresses?: Addresses;
  /** Called when the engines run, before the product starts. Returns further environment variables. */
  prepare?: (stack: Stack) => Promise<Record<string, string>>;
  /** Called when a process of the product ends by itself. It is not started again. */
  onProcessEnd?: (process: ProcessName, description: string) => void;
}

/** Starts the whole chain with empty engines. When a part fails, the parts that run are stopped again. */
export async function startChain(options: ChainOptions): Promise<Chain> {
  refuseRunning(enginesOf(options.directory));
  rmSync(options.directory, { recursive: true, force: true });
  mkdirSync(options.directory, { recursive: true });
  const stops: (() => Promise<void>)[] = [];
  const stop = async () => {
    for (const stopOne of stops.reverse()) await stopOne();
    stops.length = 0;
  };
  try {
    return await startParts(options, stops, stop);
  } catch (error) {
    await stop();
    throw error;
  }
}

async function startParts(
  options: ChainOptions,
  stops: (() => Promise<void>)[],
  stop: () => Promise<void>,
): Promise<Chain> {
  const { directory, log } = options;
  const site = new OfficialSite();
  await site.start();
  stops.push(() => site.close());
  const received: Received[] = [];
  let customer: Customer | undefined;
  const receiver = await startReceiver({
    answer: async (delivery, response) => {
      if (customer) received.push(await customer.check(delivery));
      response.writeHead(204).end();
    },
  });
  stops.push(() => receiver.close());
  const caFile = path.join(directory, 'receiver-authority.pem');
  writeFileSync(caFile, receiver.caPem);

  const stack = await startStack({
    directory: enginesOf(directory),
    log,
    ...(options.addresses === undefined ? {} : { addresses: options.addresses }),
  });
  stops.push(() => stack.stop());
  options.checkStopped?.();
  const settings = {
    ...sourceSettings(site),
    ALLOW_PRIVATE_TARGETS: '1',
    EGRESS_EXTRA_CA: caFile,
    ...options.environment,
    ...(await options.prepare?.(stack)),
  };
  const product = await startProduct(stack, {
    environment: { all: settings },
    log,
    ...(options.onProcessEnd === undefined ? {} : { onProcessEnd: options.onProcessEnd }),
  });
  stops.push(() => product.stop());

  const environment = { ...readLocalConfig().environment, ...stack.endpoints, ...settings };
  const account = await padron<{ id: number }>(
    ['accounts', 'create', '--name', 'Cliente de la demostración', '--plan', 'crecimiento'],
    environment,
  );
  const { token } = await padron<{ token: string }>(['tokens', 'create', '--account', String(account.id)], environment);
  customer = new Customer(product.apiUrl, token);
  return {
    stack,
    product,
    site,
    receiver,
    customer,
    token,
    received,
    environment,
    stop,
    async publishDay(day, onLine) {
      site.show(day);
      const names = day.files.map(({ register }) => register);
      const done = await padron<PublicationRow | PublicationRow[]>(
        ['publications', 'run', ...names, '--wait'],
        environment,
        onLine,
      );
      return Array.isArray(done) ? done : [done];
    },
  };
}

/** The settings that make the product fetch every register from this site. */
function sourceSettings(site: OfficialSite): Record<string, string> {
  const settings: Record<string, string> = {};
  for (const [register, { file, page }] of Object.entries(sitePaths)) {
    settings[`SOURCE_${register.toUpperCase()}_URL`] = `${site.origin}${file}`;
    if (page !== null) settings[`SOURCE_${register.toUpperCase()}_PAGE_URL`] = `${site.origin}${page}`;
  }
  return settings;
}

function enginesOf(directory: string): string {
  return path.join(directory, 'engines');
}

/**
 * Runs the command `padron` as a person would, and returns the JSON document that it prints.
 * @param onLine is called with each line of its progress (standard error)
 * @throws Error with the command's output when its exit code is not 0
 */
export async function padron<Answer>(
  words: readonly string[],
  environment: Record<string, string>,
  onLine: (line: string) => void = () => undefined,
): Promise<Answer> {
  const command = path.join(repositoryRoot, 'deploy', 'cli', 'padron.js');
  const child = spawn(process.execPath, [command, ...words, '--json'], {
    cwd: repositoryRoot,
    env: environment,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  let progress = '';
  child.stdout.on('data', (chunk) => {
    output += chunk;
  });
  child.stderr.on('data', (chunk) => {
    progress += chunk;
    for (const line of String(chunk).split(/[\r\n]+/)) if (line.trim() !== '') onLine(line);
  });
  const [code] = await once(child, 'close');
  if (code !== 0) throw new Error(`padron ${words.join(' ')} ended with ${code ?? 1}:\n${progress}${output}`);
  return JSON.parse(output) as Answer;
}
