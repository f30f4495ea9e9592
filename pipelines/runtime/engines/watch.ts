import { askEngine, type EngineCheck } from './check.ts';
import { type EngineError, type EngineName, engineNames } from './failure.ts';

/** What this file needs of a log. */
interface Log {
  error(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  info(fields: object, message: string): void;
}

/** Pause between two looks of a running process. */
export const lookEveryMs = 10_000;
/** An engine that has not answered by then counts as away. A start must end with a reason within 10 s. */
const askMs = 8_000;

/**
 * Looks whether the engines of a process can be used: each answers, takes our login and is not too old. The log has one
 * line when that changes. Readiness reads the last look, so probes cost the engines nothing.
 */
export class EngineWatch {
  readonly #checks: readonly EngineCheck[];
  readonly #log: Log;
  readonly #failures = new Map<EngineCheck, EngineError>();

  constructor(checks: readonly EngineCheck[], log: Log) {
    this.#checks = checks;
    this.#log = log;
  }

  /** Asks all engines at the same time. Never rejects. */
  async look(): Promise<void> {
    await Promise.all(this.#checks.map((check) => this.#ask(check)));
  }

  /**
   * Looks once, before a process starts to work.
   * @param needed engines that the process cannot start without, so that it also ends when one of them is away
   * @throws EngineError of the first engine that refuses us, within 10 s
   */
  async requireUsable(needed: readonly EngineName[]): Promise<void> {
    await this.look();
    const failures = [...this.#failures.values()];
    const failure = failures.find(({ engine, kind }) => kind === 'refused' || needed.includes(engine));
    if (failure !== undefined) throw failure;
  }

  /**
   * Why engines refused us at the last look; null if none did. An engine that is away is not named here, because each
   * process knows by itself whether it can work without it.
   */
  problem(engines: readonly EngineName[] = engineNames): string | null {
    const refusals = [...this.#failures.values()].filter(
      ({ kind, engine }) => kind === 'refused' && engines.includes(engine),
    );
    return refusals.length === 0 ? null : refusals.map(({ message }) => message).join('; ');
  }

  async #ask(check: EngineCheck): Promise<void> {
    const { engine, address } = check;
    const former = this.#failures.get(check);
    try {
      await askEngine(check, askMs);
      this.#failures.delete(check);
      if (former !== undefined) this.#log.info({ engine, address }, `${engine} can be used again`);
    } catch (error) {
      const failure = error as EngineError;
      this.#failures.set(check, failure);
      if (former?.message === failure.message) return;
      if (failure.kind === 'refused') this.#log.error({ engine, address, code: failure.code }, failure.message);
      else this.#log.warn({ engine, address, code: failure.code }, failure.message);
    }
  }
}
