import { setTimeout as sleep } from 'node:timers/promises';
import {
  isDeleted,
  type Population,
  rucOfIndex,
  taxpayerOn,
  trueChanges,
} from '../../../deploy/local/demo/register/population.ts';
import { displayCondicion, displayEstado } from '../../../schemas/display-texts.ts';
import { type Connection, openConnection } from '../../bench/look-up-callers.ts';

/** A company of the daily register, and what a right answer shows of it on each day. */
interface Company {
  ruc: string;
  index: number;
}

export interface LoadCounts {
  answered: number;
  /** Answers that show another row than the one of the day that they name. */
  wrong: number;
  /** Answers that name an earlier day than one that was served over a second before the question. */
  old: number;
  /** Answers with an error, and questions without an answer. */
  errors: number;
  /** Errors that came later than a second after the last kill. */
  lateErrors: number;
}

/** The answers may name an edition's day this long after it is served: two reads of the catalogue, on a busy machine. */
const servedAfterMs = 1_000;
const errorsAfterKillMs = 1_000;

/**
 * Looks companies up at a steady rate, and judges each answer by the invented register: its row must be exactly the row
 * of the day that the answer names. Half of the questions are about companies that change on some day.
 */
export class ReplicaLoad {
  readonly counts: LoadCounts = { answered: 0, wrong: 0, old: 0, errors: 0, lateErrors: 0 };
  /** The first answers that were wrong, for the reader. */
  readonly examples: string[] = [];
  readonly #population: Population;
  readonly #days: readonly string[];
  readonly #changing: Company[];
  readonly #others: Company[];
  readonly #served: { day: number; at: number }[] = [];
  #killedAt = Number.NEGATIVE_INFINITY;
  #isOver = false;

  /** @param days the date of each day's data, from day 1 */
  constructor(population: Population, days: readonly string[]) {
    this.#population = population;
    this.#days = days;
    const numbers = days.map((_, at) => at + 1).slice(1);
    const changing = new Set(numbers.flatMap((day) => trueChanges(population, day).map(({ ruc }) => ruc)));
    const companies = Array.from({ length: population.rows }, (_, index) => ({
      index,
      ruc: rucOfIndex(population, index),
    })).filter(({ ruc }) => ruc.startsWith('20'));
    this.#changing = companies.filter(({ ruc }) => changing.has(ruc));
    this.#others = companies.filter(({ ruc }) => !changing.has(ruc));
  }

  /** Companies of which a field changes on the days. */
  changing(): string[] {
    return this.#changing.map(({ ruc }) => ruc);
  }

  noteServed(day: number): void {
    this.#served.push({ day, at: performance.now() });
  }

  noteKill(): void {
    this.#killedAt = performance.now();
  }

  stop(): void {
    this.#isOver = true;
  }

  /** Asks until `stop`, by `callers` connections that share the rate. 0 means as fast as they are answered. */
  async run(urls: readonly string[], token: string, perSecond: number, callers: number): Promise<void> {
    const everyMs = perSecond === 0 ? 0 : (callers * 1_000) / perSecond;
    const one = async (number: number) => {
      const url = new URL(urls[number % urls.length]!);
      let connection: Connection | undefined;
      let next = performance.now() + (everyMs * number) / callers;
      while (!this.#isOver) {
        await sleep(Math.max(0, next - performance.now()));
        // A caller that is behind does not make up for it later in one burst.
        next = Math.max(next + everyMs, performance.now() - everyMs);
        try {
          connection ??= await openConnection(url.hostname, Number(url.port));
          await this.#ask(connection, url.hostname, token);
        } catch {
          this.#noteError(0);
          connection?.socket.destroy();
          connection = undefined;
          await sleep(50);
        }
      }
      connection?.socket.destroy();
    };
    await Promise.all(Array.from({ length: callers }, (_, number) => one(number)));
  }

  async #ask(connection: Connection, host: string, token: string): Promise<void> {
    const from = Math.random() < 0.5 && this.#changing.length > 0 ? this.#changing : this.#others;
    const company = from[Math.floor(Math.random() * from.length)]!;
    const leastDay = this.#leastDay();
    const head = `HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${token}\r\n\r\n`;
    const answer = await connection.ask(`GET /id/v1/ruc/${company.ruc} ${head}`);
    const status = Number(answer.slice(9, 12));
    if (status !== 200 && status !== 404) return this.#noteError(status);
    this.counts.answered += 1;
    this.#judge(company, status, answer.slice(answer.indexOf('\r\n\r\n') + 4), leastDay);
  }

  #judge({ ruc, index }: Company, status: number, body: string, leastDay: number): void {
    const { data, meta } = JSON.parse(Buffer.from(body, 'latin1').toString()) as {
      data?: { nombre: string; estado: string; condicion: string };
      meta?: { fecha_dato?: string };
    };
    const day = this.#days.indexOf(meta?.fecha_dato ?? '') + 1;
    if (day < leastDay) this.counts.old += 1;
    if (day < leastDay && this.examples.length < 20) this.examples.push(`${ruc}: day ${day} after day ${leastDay}`);
    const [nombre, estado, condicion] = taxpayerOn(this.#population, index, day).cells as [string, string, string];
    const isGone = isDeleted(this.#population, index, day);
    const wanted = isGone ? 'none' : [nombre, displayEstado(estado), displayCondicion(condicion)].join('|');
    const found = status === 404 ? 'none' : [data?.nombre, data?.estado, data?.condicion].join('|');
    if (day > 0 && found === wanted) return;
    this.counts.wrong += 1;
    if (this.examples.length < 20) this.examples.push(`${ruc}: day ${day} shows ${found}, and not ${wanted}`);
  }

  #leastDay(): number {
    const before = performance.now() - servedAfterMs;
    return Math.max(0, ...this.#served.filter(({ at }) => at < before).map(({ day }) => day));
  }

  #noteError(status: number): void {
    this.counts.errors += 1;
    if (performance.now() - this.#killedAt <= errorsAfterKillMs) return;
    this.counts.lateErrors += 1;
    if (this.examples.length < 20) this.examples.push(`an error with status ${status} without a kill before it`);
  }
}
