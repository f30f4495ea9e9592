import { setTimeout as sleep } from 'node:timers/promises';
import type { Admin, Kafka } from 'kafkajs';
import type { EngineError } from '../engines/failure.ts';
import { within } from '../lifecycle.ts';
import type { Logger } from '../log.ts';
import { makeKafka } from './client.ts';
import type { KafkaConnection } from './connection.ts';
import { saslOf } from './login.ts';
import { kafkaError } from './reasons.ts';

/** Limit of a command, whose user waits. */
const commandLimitMs = 8_000;
/** Limit of a process, which may start while the brokers start too. The log has the reason from the first try on. */
export const processLimitMs = 60_000;
const checkLimitMs = 3_000;
/** Pause before the second try. It doubles from try to try, up to `longestPauseMs`. */
const firstPauseMs = 250;
const longestPauseMs = 2_000;

export interface ConnectedKafka {
  kafka: Kafka;
  /** Asks Kafka for its brokers. Returns null if one answers, otherwise a sentence for /readyz that says why not. */
  problem(): Promise<string | null>;
  close(): Promise<void>;
}

/**
 * Makes a client once a broker has accepted the connection and the login. So a wrong setting ends a process at its
 * start, and not after the long retries that a running process needs.
 * @throws EngineError after `limitMs`; at once if no broker of the list can be used with these settings
 */
export async function connectKafka(
  connection: KafkaConnection,
  clientId: string,
  log: Logger,
  limitMs = commandLimitMs,
): Promise<ConnectedKafka> {
  const check = new KafkaCheck(connection, clientId, log);
  const unavailable = await check.until(limitMs, 'starting');
  if (unavailable !== null) {
    await check.close();
    throw unavailable;
  }
  let running: Promise<EngineError | null> | undefined;
  return {
    kafka: makeKafka(connection, clientId, log),
    problem: async () => {
      running ??= check.until(checkLimitMs, 'running').finally(() => {
        running = undefined;
      });
      return (await running)?.message ?? null;
    },
    close: () => check.close(),
  };
}

/** Asks the brokers in turn. It keeps the connection that works, and never the state of a client that failed. */
class KafkaCheck {
  readonly #brokers: readonly string[];
  readonly #newAdmin: (broker: string) => Admin;
  #admin: Admin | undefined;
  #next = 0;

  constructor(connection: KafkaConnection, clientId: string, log: Logger) {
    this.#brokers = connection.brokers.split(',');
    const { login } = connection;
    const options = {
      // A failure is shown with its own reason, and repeated here with the next broker.
      retry: { retries: 0 },
      requestTimeout: checkLimitMs,
      ...(login === undefined ? {} : { sasl: saslOf(login) }),
    };
    this.#newAdmin = (broker) =>
      makeKafka(connection, `${clientId}-check`, log, { ...options, brokers: [broker] }).admin();
  }

  /**
   * Asks until a broker answers. At the start of a process, it gives up early once every broker of the list has failed
   * for a reason that does not pass by itself.
   */
  async until(limitMs: number, when: 'starting' | 'running'): Promise<EngineError | null> {
    const deadline = Date.now() + limitMs;
    const failures: EngineError[] = [];
    for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(longestPauseMs, 2 * pauseMs)) {
      const failure = await this.#once(deadline - Date.now());
      if (failure === null) return null;
      failures.push(failure);
      const round = failures.slice(-this.#brokers.length);
      const isCertain = round.length === this.#brokers.length && round.every(({ kind }) => kind === 'refused');
      if ((when === 'starting' && isCertain) || Date.now() + pauseMs >= deadline) return mostTelling(failures);
      await sleep(pauseMs);
    }
  }

  async close(): Promise<void> {
    const admin = this.#admin;
    this.#admin = undefined;
    await admin?.disconnect();
  }

  async #once(limitMs: number): Promise<EngineError | null> {
    const broker = this.#brokers[this.#next % this.#brokers.length]!;
    this.#admin ??= this.#newAdmin(broker);
    const admin = this.#admin;
    try {
      await within(Math.max(0, limitMs), ask(admin));
      return null;
    } catch (error) {
      this.#next += 1;
      // The end of this client may take as long as its requests, and nothing depends on it.
      this.close().catch(() => {});
      return kafkaError(error, broker);
    }
  }
}

/** A broker that is silent or down says less than one that refuses us, so the latter is named where both are found. */
function mostTelling(failures: readonly EngineError[]): EngineError {
  const last = failures.findLast(({ code }) => code !== 'no_answer') ?? failures.at(-1)!;
  return failures.find(({ kind }) => kind === 'refused') ?? last;
}

async function ask(admin: Admin): Promise<void> {
  await admin.connect();
  await admin.describeCluster();
}
