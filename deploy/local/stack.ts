import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { type Addresses, type Endpoints, readLocalConfig, readOrMakeCredentials } from './config.ts';
import { clickhouse } from './engines/clickhouse.ts';
import { type Engine, type EngineContext, type EngineName, engineNames } from './engines/context.ts';
import { kafka } from './engines/kafka.ts';
import { postgres } from './engines/postgres.ts';
import { registry } from './engines/registry.ts';
import { temporal } from './engines/temporal.ts';
import type { Log } from './fetch.ts';
import { choosePorts, type Ports } from './ports.ts';
import { requirePrerequisites } from './prerequisites.ts';
import { LockHeldError, lockOwner, type ProcessIdentity, takeLock } from './process.ts';
import { endLeftovers, SupervisedProcess, type SuperviseOptions } from './supervise.ts';

const engines: Record<EngineName, Engine> = { postgres, kafka, registry, clickhouse, temporal };

/** The named engines and the engines that they need, in the order of their start. */
function enginesWithNeeded(names: readonly EngineName[]): Engine[] {
  const all = new Set(names);
  for (const name of names) for (const needed of engines[name].after) all.add(needed);
  return engineNames.filter((name) => all.has(name)).map((name) => engines[name]);
}

/** A stack's engine processes. An engine starts once the engines that it needs are ready, and stops before them. */
class RunningEngines {
  readonly #context: EngineContext;
  readonly #wanted: readonly Engine[];
  readonly #options: SuperviseOptions;
  readonly #processes = new Map<EngineName, SupervisedProcess>();

  constructor(context: EngineContext, wanted: readonly Engine[], options: SuperviseOptions) {
    this.#context = context;
    this.#wanted = wanted;
    this.#options = options;
  }

  async startAll(): Promise<void> {
    const starts = new Map<EngineName, Promise<void>>();
    for (const engine of this.#wanted) {
      const needed = engine.after.map((name) => starts.get(name));
      starts.set(
        engine.name,
        Promise.all(needed).then(() => this.#start(engine)),
      );
    }
    const outcomes = await Promise.allSettled(starts.values());
    const failures = outcomes
      .filter((outcome) => outcome.status === 'rejected')
      .map((outcome) => outcome.reason as Error);
    if (failures.length === 0) return;
    await this.stopAll();
    const messages = [...new Set(failures.map((failure) => failure.message))];
    throw new Error(`the local stack did not start:\n${messages.join('\n')}`, { cause: failures[0] });
  }

  async stopAll(): Promise<void> {
    const stops = new Map<EngineName, Promise<void>>();
    for (const engine of [...this.#wanted].reverse()) {
      const users = this.#wanted
        .filter((other) => other.after.includes(engine.name))
        .map((other) => stops.get(other.name));
      stops.set(
        engine.name,
        Promise.all(users).then(() => this.#stop(engine.name)),
      );
    }
    await Promise.all(stops.values());
  }

  async kill(name: EngineName): Promise<void> {
    await this.#process(name).kill();
  }

  async restart(name: EngineName): Promise<void> {
    this.#process(name);
    await this.#stop(name);
    await this.#start(engines[name]);
  }

  async #start(engine: Engine): Promise<void> {
    const startedAt = Date.now();
    const launch = await engine.prepare(this.#context);
    const started = new SupervisedProcess(launch, this.#options);
    this.#processes.set(engine.name, started);
    await started.waitUntilReady();
    await engine.finish?.(this.#context);
    this.#context.programs.log(`${engine.name}: up in ${((Date.now() - startedAt) / 1000).toFixed(1)} s`);
  }

  async #stop(name: EngineName): Promise<void> {
    const stopped = (await this.#processes.get(name)?.stop()) ?? true;
    if (!stopped)
      this.#context.programs.log(`${name}: did not end within ${this.#options.stopTimeoutMs} ms and was killed`);
  }

  #process(name: EngineName): SupervisedProcess {
    const found = this.#processes.get(name);
    if (!found) throw new Error(`${name} is not an engine of this stack`);
    return found;
  }
}

interface StackOptions {
  /** Folder of the data, made if it is missing. Only one stack can run in it. */
  directory: string;
  /** The engines to start, by default all. Engines that these need are added. */
  engines?: readonly EngineName[];
  log?: Log;
  /** Addresses of engines that run elsewhere and are not started. The default is the addresses in the environment. */
  addresses?: Addresses;
  /** Called when an engine ends by itself. The other engines go on, unless the stack is still starting. */
  onEngineEnd?(engine: EngineName, description: string): void;
}

export interface Stack {
  /** The engines' addresses. The address of an engine that does not run is empty. */
  endpoints: Endpoints;
  directory: string;
  /** The ports of the engines and of the product's processes. The folder's file `run/ports.json` holds them. */
  ports: Ports;
  /** Stops all engines in reverse order. An engine that does not end in time is killed, and the log names it. */
  stop(): Promise<void>;
  /** Sends SIGKILL to the engine and all its processes. Tests of crashes use it. */
  kill(engine: EngineName): Promise<void>;
  /** Stops an engine if it runs, and starts it again on the same port. */
  restart(engine: EngineName): Promise<void>;
}

const stopTimeoutMs = 20_000;
const readyTimeoutMs = 180_000; // a start takes seconds on an idle machine, and a minute when every core is busy

/** Starts the engines in a folder and resolves when all are ready. If one fails, it stops the others and throws. */
export async function startStack(options: StackOptions): Promise<Stack> {
  const startedAt = Date.now();
  const log = options.log ?? (() => undefined);
  const directory = path.resolve(options.directory);
  const folders = { run: path.join(directory, 'run'), logs: path.join(directory, 'logs') };
  for (const folder of Object.values(folders)) mkdirSync(folder, { recursive: true });
  const releases = [takeStackLock(directory)];
  const release = () => {
    for (const one of releases.reverse()) one();
  };
  try {
    await endLeftovers(folders.run, log);
    const chosen = await choosePorts(path.join(folders.run, 'ports.json'));
    releases.push(chosen.release);
    const context = makeContext(directory, options, chosen.ports, log);
    const wanted = enginesWithNeeded(options.engines ?? engineNames).filter(
      (engine) => !engine.addressNames.every((name) => context.external[name]),
    );
    const needs = wanted.flatMap((engine) => engine.toolNeeds?.(context.programs) ?? []);
    requirePrerequisites(context.programs, needs, directory);
    for (const engine of wanted) Object.assign(context.endpoints, engine.endpoints(context), context.external);
    let isStarting = true;
    const running = new RunningEngines(context, wanted, {
      runDirectory: folders.run,
      logDirectory: folders.logs,
      searchPath: context.programs.searchPath,
      readyTimeoutMs,
      stopTimeoutMs,
      onUnexpectedEnd: (name, description) => {
        log(description);
        options.onEngineEnd?.(name as EngineName, description);
        // Otherwise the engines that need the ended engine would wait for it until their own deadline.
        if (isStarting) void running.stopAll();
      },
    });
    await running.startAll();
    isStarting = false;
    log(`ready in ${((Date.now() - startedAt) / 1000).toFixed(1)} s`);
    return {
      endpoints: context.endpoints,
      directory,
      ports: context.ports,
      kill: (engine) => running.kill(engine),
      restart: (engine) => running.restart(engine),
      stop: async () => {
        await running.stopAll();
        release();
      },
    };
  } catch (error) {
    release();
    throw error;
  }
}

/** The lock file of a stack's folder. Its owner is the process that runs the stack. */
export function stackLockFile(directory: string): string {
  return path.join(path.resolve(directory), 'run', 'stack.lock');
}

function takeStackLock(directory: string): () => void {
  try {
    return takeLock(stackLockFile(directory));
  } catch (error) {
    if (!(error instanceof LockHeldError)) throw error;
    throw alreadyRuns(directory, error.owner);
  }
}

/** Call this before you empty a folder. @throws Error if a stack runs in the folder; its message names the process */
export function refuseRunning(directory: string): void {
  const owner = lockOwner(stackLockFile(directory));
  if (owner) throw alreadyRuns(directory, owner);
}

function alreadyRuns(directory: string, { pid }: ProcessIdentity): Error {
  return new Error(`a stack already runs in ${directory}, in process ${pid}: stop it first`);
}

type StackContext = EngineContext & { external: Addresses };

function makeContext(directory: string, options: StackOptions, ports: Ports, log: Log): StackContext {
  const config = readLocalConfig();
  const external = options.addresses ?? config.addresses;
  const archive = path.join(directory, 'archive');
  const work = path.join(directory, 'work');
  for (const folder of [archive, work]) mkdirSync(folder, { recursive: true });
  return {
    directory,
    external,
    ports,
    credentials: readOrMakeCredentials(directory),
    javaOptions: config.javaOptions,
    programs: { directory: config.programsDirectory, searchPath: config.searchPath, log },
    endpoints: {
      KAFKA_BROKERS: external.KAFKA_BROKERS ?? '',
      SCHEMA_REGISTRY_URL: external.SCHEMA_REGISTRY_URL ?? '',
      CLICKHOUSE_URL: external.CLICKHOUSE_URL ?? '',
      DATABASE_URL: external.DATABASE_URL ?? '',
      TEMPORAL_ADDRESS: external.TEMPORAL_ADDRESS ?? '',
      TEMPORAL_UI_URL: external.TEMPORAL_UI_URL ?? '',
      ARCHIVE_URL: external.ARCHIVE_URL ?? pathToFileURL(archive).href,
      WORK_DIR: external.WORK_DIR ?? work,
    },
  };
}
