import { randomUUID } from 'node:crypto';
import type { Logger } from '../../pipelines/runtime/log.ts';
import type { Notifications } from '../../pipelines/runtime/notifications.ts';
import type { Pool } from '../../pipelines/runtime/postgres.ts';

/** Before a process refuses a request, it asks the others for units of the quota or for requests of the minute. */
export type Question = 'quota' | 'minute';

/** Sends questions between API processes as PostgreSQL notifications. These can be lost, so every wait has an end. */
export interface Questions {
  /** Sets the function that runs when another process asks. If it resolves with true, the other process is notified. */
  onAsked(question: Question, giveBack: (key: string) => Promise<boolean>): void;
  /** Asks all other processes. Resolves at the first answer or after `waitMs`. @throws pg's errors */
  ask(question: Question, key: string, waitMs: number): Promise<void>;
}

const askedChannel = 'metering_asked';
const answeredChannel = 'metering_answered';
export const meteringChannels = [askedChannel, answeredChannel] as const;

/** @param notifications must listen to `meteringChannels` */
export function makeQuestions(pool: Pool, notifications: Notifications, log: Logger): Questions {
  return new PostgresQuestions(pool, notifications, log);
}

class PostgresQuestions implements Questions {
  readonly #pool: Pool;
  readonly #notifications: Notifications;
  readonly #log: Logger;
  readonly #processId = randomUUID();
  readonly #answers = new Map<string, (key: string) => Promise<boolean>>();

  constructor(pool: Pool, notifications: Notifications, log: Logger) {
    this.#pool = pool;
    this.#notifications = notifications;
    this.#log = log;
    notifications.listenToAll(askedChannel, (payload) => void this.#answer(payload));
  }

  onAsked(question: Question, giveBack: (key: string) => Promise<boolean>): void {
    this.#answers.set(question, giveBack);
  }

  async ask(question: Question, key: string, waitMs: number): Promise<void> {
    const about = `${question} ${key}`;
    let unlisten = () => {};
    let timer: NodeJS.Timeout | undefined;
    const answered = new Promise<void>((resolve) => {
      unlisten = this.#notifications.listen(answeredChannel, about, resolve);
      timer = setTimeout(resolve, waitMs);
    });
    try {
      await this.#notify(askedChannel, `${this.#processId} ${about}`);
      await answered;
    } finally {
      clearTimeout(timer);
      unlisten();
    }
  }

  async #notify(channel: string, text: string): Promise<void> {
    await this.#pool.query({ name: 'metering-notify', text: 'SELECT pg_notify($1, $2)', values: [channel, text] });
  }

  async #answer(payload: string): Promise<void> {
    const [processId, question = '', key = ''] = payload.split(' ');
    if (processId === this.#processId) return;
    try {
      if (await this.#answers.get(question)?.(key)) await this.#notify(answeredChannel, `${question} ${key}`);
    } catch (error) {
      this.#log.debug({ err: error, question }, 'what another process asked for did not go back');
    }
  }
}
