import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { TrueChange } from '../../deploy/local/demo/register/population.ts';
import type { Pool } from '../../pipelines/runtime/postgres.ts';
import { eventId } from '../../pipelines/watch/match.ts';
import { deliveryId } from '../../pipelines/webhooks/delivery-log.ts';
import { limaDay } from '../../schemas/lima-time.ts';
import { type Column, padronReducido } from '../../schemas/registers.ts';
import { isCompany } from '../../schemas/ruc.ts';
import { type Customer, makeCustomers } from '../support/delivery/load.ts';
import { type Receivers, startReceivers } from '../support/delivery/receivers.ts';
import { keyRingText } from '../support/watch/harness.ts';

/** How many deliveries each customer gets per day, if that many companies change. */
const deliveriesOfCustomer = 200;
/** The default rate of a webhook (schemas/postgres/0003_watch.sql). */
export const defaultRate = 20;
const timeoutMs = 600_000;
const pollMs = 100;

/** The company and field of an expected delivery. */
interface ExpectedDelivery {
  ruc: string;
  campo: string;
}

interface Wanted {
  /** Deliveries on each day. */
  deliveries: number;
  /** The most requests per second that a webhook accepts. */
  perSecond: number;
  members?: number;
  others?: readonly string[];
}

/** Customers who watch companies of the daily register that change, and their receivers. */
export class Watchers {
  readonly #receivers: Receivers;
  /** The product needs this to trust the receivers' certificate. */
  readonly environment: Record<string, string>;
  #customers: readonly Customer[] = [];

  private constructor(receivers: Receivers, caFile: string) {
    this.#receivers = receivers;
    this.environment = { EGRESS_EXTRA_CA: caFile, WEBHOOK_SECRET_KEYS: keyRingText };
  }

  static async start(folder: string): Promise<Watchers> {
    mkdirSync(folder, { recursive: true });
    const receivers = await startReceivers();
    const caFile = join(folder, 'receivers-authority.pem');
    writeFileSync(caFile, receivers.caPem);
    return new Watchers(receivers, caFile);
  }

  /**
   * Creates customers with one list and one webhook each, so that each of these days brings `deliveries` in all. If
   * fewer companies change, several customers watch the same ones. Then the lists are filled with `others`, companies
   * that do not change, up to `members` in all.
   */
  async subscribe(pool: Pool, days: readonly (readonly TrueChange[])[], wanted: Wanted): Promise<void> {
    const { deliveries, perSecond, members = 0, others = [] } = wanted;
    const expected = days.map(expectedOf);
    const each = Math.min(deliveriesOfCustomer, ...expected.map(({ length }) => length));
    if (each < 1) throw new RangeError('no watched field of a company changes on some day: choose more rows');
    const lists = Array.from({ length: Math.ceil(deliveries / each) }, (_, customer) => {
      const places = Array.from(
        { length: Math.min(each, deliveries - customer * each) },
        (_, at) => customer * each + at,
      );
      return [...new Set(expected.flatMap((day) => places.map((place) => day[place % day.length]!.ruc)))];
    });
    const companies = new Set(lists.flat()).size;
    fill(lists, members, others);
    this.#customers = await makeCustomers(pool, this.#receivers.origin, lists, perSecond);
    const count = lists.reduce((sum, { length }) => sum + length, 0);
    console.log(
      `${lists.length} customers watch ${companies} companies that change on the measured days; ${count} list members`,
    );
  }

  /**
   * Waits for all deliveries of the daily register's edition with these changes.
   * @returns how many there are, and when the last one arrived, in ms since 1970
   * @throws Error if one does not arrive or arrives twice
   */
  async allDeliveries(
    changes: readonly TrueChange[],
    edition: { number: number; detectedAt: Date },
  ): Promise<{ deliveries: number; lastAt: number }> {
    const expected = this.#expectedOf(changes, edition);
    const missing = new Set(expected);
    let lastAt = 0;
    for (const until = Date.now() + timeoutMs; missing.size > 0 && Date.now() < until; await sleep(pollMs)) {
      for (const { deliveryId, at } of (await this.#receivers.take()).arrivals) {
        if (!expected.has(deliveryId)) continue; // it belongs to another register of the day
        if (!missing.delete(deliveryId)) throw new Error(`delivery ${deliveryId} came twice`);
        lastAt = Math.max(lastAt, at);
      }
    }
    if (missing.size > 0) throw new Error(`${missing.size} of ${expected.size} deliveries did not come`);
    return { deliveries: expected.size, lastAt };
  }

  async stop(): Promise<void> {
    await this.#receivers.close();
  }

  #expectedOf(changes: readonly TrueChange[], edition: { number: number; detectedAt: Date }): Set<string> {
    const expected = expectedOf(changes);
    const day = limaDay(edition.detectedAt);
    const event = (ruc: string, campo: string, list: number) =>
      eventId(padronReducido.name, edition.number, ruc, campo, list);
    const ids = this.#customers.flatMap(({ rucs, list, webhook }) => {
      const watched = new Set(rucs);
      return expected
        .filter(({ ruc }) => watched.has(ruc))
        .map(({ ruc, campo }) => deliveryId(day, event(ruc, campo, list), webhook));
    });
    return new Set(ids);
  }
}

/** Gives each list the same number of further companies, other ones to each as long as there are enough. */
function fill(lists: string[][], members: number, others: readonly string[]): void {
  let at = 0;
  for (const list of lists) {
    const missing = Math.min(others.length, Math.ceil(members / lists.length) - list.length);
    for (let added = 0; added < missing; added += 1, at += 1) list.push(others[at % others.length]!);
  }
}

const columns: readonly Column[] = padronReducido.columns;
const watchedColumns = new Set(columns.filter(({ event }) => event !== undefined).map(({ name }) => name));

function expectedOf(changes: readonly TrueChange[]): ExpectedDelivery[] {
  return changes
    .filter(({ ruc }) => isCompany(ruc))
    .flatMap(({ op, ruc, columns: changed }) => {
      const fields = op === 'u' ? changed.filter((column) => watchedColumns.has(column)) : ['ruc'];
      return fields.map((campo) => ({ ruc, campo }));
    });
}
