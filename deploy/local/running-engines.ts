import { clickhouse } from './engines/clickhouse.ts';
import { type Engine, type EngineContext, type EngineName, engineNames } from './engines/context.ts';
import { kafka } from './engines/kafka.ts';
import { postgres } from './engines/postgres.ts';
import { registry } from './engines/registry.ts';
import { temporal } from './engines/temporal.ts';
import { SupervisedProcess, type SuperviseOptions } from './supervise.ts';

const engines: Record<EngineName, Engine> = { postgres, kafka, registry, clickhouse, temporal };

/** The named engines and those that they need, in order of their start. */
export function enginesWithNeeded(names: readonly EngineName[]): Engine[] {
  const all = new Set(names);
  for (const name of names) for (const needed of engines[name].after) all.add(needed);
  return engineNames.filter((name) => all.has(name)).map((name) => engines[name]);
}

/** The engines of one stack as processes, started as soon as what they need serves and stopped in reverse. */
export class RunningEngines {
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
