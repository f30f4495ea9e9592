import { randomUUID } from 'node:crypto';
import pg from 'pg';
import type { Logger } from '../../pipelines/runtime/log.ts';
import type { Pool } from '../../pipelines/runtime/postgres.ts';

/** What processes ask each other for before one of them refuses: units of an account's quota, requests of a minute. */
export type Question = 'quota' | 'minute';

/**
 * Questions between API processes by PostgreSQL's LISTEN and NOTIFY, on one connection of its own that is made again
 * whenever it breaks. A word may be lost: whoever asks waits for a bounded time.
 */
export interface Questions {
  /** What this process does when another one asks. true: it gave something back, and the asker is told to look again. */
  onAsked(question: Question, giveBack: (key: string) => Promise<boolean>): void;
  /** Asks all others; ends when the first has answered, or after `waitMs`. @throws what pg throws */
  ask(question: Question, key: string, waitMs: number): Promise<void>;
  start(): void;
  stop(): Promise<void>;
}

const askedChannel = 'metering_asked';
const answeredChannel = 'metering_answered';
const reconnectMs = 500;

export function makeQuestions(pool: Pool, databaseUrl: string, log: Logger): Questions {
  return new PostgresQuestions(pool, databaseUrl, log);
}

class PostgresQuestions implements Questions {
  readonly #pool: Pool;
  readonly #databaseUrl: string;
  readonly #log: Logger;
  readonly #processId = randomUUID();
  readonly #answers = new Map<string, (key: string) => Promise<boolean>>();
  readonly #waiting = new Map<string, Set<() => void>>();
  #client: pg.Client | undefined;
  #retry: NodeJS.Timeout | undefined;
  #isStopped = false;

  constructor(pool: Pool, databaseUrl: string, log: Logger) {
    this.#pool = pool;
    this.#databaseUrl = databaseUrl;
    this.#log = log;
  }

  onAsked(question: Question, giveBack: (key: string) => Promise<boolean>): void {
    this.#answers.set(question, giveBack);
  }

  async ask(question: Question, key: string, waitMs: number): Promise<void> {
    const about = `${question} ${key}`;
    const waiting = this.#waiting.get(about) ?? new Set();
    this.#waiting.set(about, waiting);
    let wake = () => {};
    let timer: NodeJS.Timeout | undefined;
    const answered = new Promise<void>((resolve) => {
      wake = resolve;
      timer = setTimeout(resolve, waitMs);
    });
    waiting.add(wake);
    try {
      await this.#notify(askedChannel, `${this.#processId} ${about}`);
      await answered;
    } finally {
      clearTimeout(timer);
      waiting.delete(wake);
      if (waiting.size === 0) this.#waiting.delete(about);
    }
  }

  start(): void {
    void this.#connect();
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#retry);
    await this.#client?.end().catch(() => {});
  }

  async #notify(channel: string, text: string): Promise<void> {
    await this.#pool.query({ name: 'metering-notify', text: 'SELECT pg_notify($1, $2)', values: [channel, text] });
  }

  async #connect(): Promise<void> {
    const client = new pg.Client({
      connectionString: this.#databaseUrl,
      application_name: 'padron-api-questions',
      connectionTimeoutMillis: 5_000,
      keepAlive: true,
    });
    this.#client = client;
    const lose = (error?: unknown) => {
      if (this.#isStopped || this.#client !== client) return;
      this.#client = undefined;
      this.#log.debug({ err: error }, 'the connection for questions is made again');
      client.end().catch(() => {});
      this.#retry = setTimeout(() => this.start(), reconnectMs);
    };
    client.on('error', lose);
    client.on('end', () => lose());
    client.on('notification', ({ channel, payload = '' }) => {
      if (channel === answeredChannel) for (const wake of this.#waiting.get(payload) ?? []) wake();
      else void this.#answer(payload);
    });
    try {
      await client.connect();
      await client.query(`LISTEN ${askedChannel}; LISTEN ${answeredChannel}`);
    } catch (error) {
      lose(error);
    }
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
