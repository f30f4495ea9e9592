import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { TrueChange } from '../../deploy/local/demo/register/population.ts';
import type { Pool } from '../../pipelines/runtime/postgres.ts';
import { eventId } from '../../pipelines/watch/match.ts';
import { deliveryId } from '../../pipelines/webhooks/delivery-id.ts';
import { limaDay } from '../../schemas/lima-time.ts';
import { type Column, padronReducido } from '../../schemas/registers.ts';
import { isCompany } from '../../schemas/ruc.ts';
import { type Customer, makeCustomers } from '../support/delivery/load.ts';
import { type Receivers, startReceivers } from '../support/delivery/receivers.ts';
import { keyRingText } from '../support/watch/harness.ts';

/** What a customer is told of each day, where so many companies change. */
const noticesOfCustomer = 200;
/** What a webhook has whose customer asks for nothing else (schemas/postgres/0003_watch.sql). */
const perSecond = 20;
const timeoutMs = 600_000;
const pollMs = 100;

/** A notice's company and field. */
interface Told {
  ruc: string;
  campo: string;
}

/** Customers of the whole product who watch companies of the daily register that change, and their receivers. */
export class Watchers {
  readonly #receivers: Receivers;
  /** Without it the product would trust no receiver here. */
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
   * Makes customers, each with one list and one webhook, so that each of these days brings so many notices in all. Where fewer
   * companies change, several customers watch the same.
   */
  async subscribe(pool: Pool, days: readonly (readonly TrueChange[])[], notices: number): Promise<void> {
    const told = days.map(toldOf);
    const each = Math.min(noticesOfCustomer, ...told.map(({ length }) => length));
    if (each < 1) throw new RangeError('no watched field of a company changes on some day: choose more rows');
    const lists = Array.from({ length: Math.ceil(notices / each) }, (_, customer) => {
      const places = Array.from({ length: Math.min(each, notices - customer * each) }, (_, at) => customer * each + at);
      return [...new Set(told.flatMap((day) => places.map((place) => day[place % day.length]!.ruc)))];
    });
    this.#customers = await makeCustomers(pool, this.#receivers.origin, lists, perSecond);
    const companies = new Set(lists.flat()).size;
    console.log(`${lists.length} customers watch ${companies} companies that change on the measured days`);
  }

  /**
   * Waits for all notices that the daily register's edition with these changes makes.
   * @returns how many, and when the last one came, in ms since 1970
   * @throws Error when one does not come, or comes twice
   */
  async allNotices(
    changes: readonly TrueChange[],
    edition: { number: number; detectedAt: Date },
  ): Promise<{ notices: number; lastAt: number }> {
    const expected = this.#expectedOf(changes, edition);
    const missing = new Set(expected);
    let lastAt = 0;
    for (const until = Date.now() + timeoutMs; missing.size > 0 && Date.now() < until; await sleep(pollMs)) {
      for (const { deliveryId, at } of (await this.#receivers.take()).arrivals) {
        if (!expected.has(deliveryId)) continue; // told by another register of the day
        if (!missing.delete(deliveryId)) throw new Error(`notice ${deliveryId} came twice`);
        lastAt = Math.max(lastAt, at);
      }
    }
    if (missing.size > 0) throw new Error(`${missing.size} of ${expected.size} notices did not come`);
    return { notices: expected.size, lastAt };
  }

  async stop(): Promise<void> {
    await this.#receivers.close();
  }

  #expectedOf(changes: readonly TrueChange[], edition: { number: number; detectedAt: Date }): Set<string> {
    const told = toldOf(changes);
    const day = limaDay(edition.detectedAt);
    const event = (ruc: string, campo: string, list: number) =>
      eventId(padronReducido.name, edition.number, ruc, campo, list);
    const ids = this.#customers.flatMap(({ rucs, list, webhook }) => {
      const watched = new Set(rucs);
      return told
        .filter(({ ruc }) => watched.has(ruc))
        .map(({ ruc, campo }) => deliveryId(day, event(ruc, campo, list), webhook));
    });
    return new Set(ids);
  }
}

const columns: readonly Column[] = padronReducido.columns;
const toldColumns = new Set(columns.filter(({ event }) => event !== undefined).map(({ name }) => name));

function toldOf(changes: readonly TrueChange[]): Told[] {
  return changes
    .filter(({ ruc }) => isCompany(ruc))
    .flatMap(({ op, ruc, columns: changed }) => {
      const fields = op === 'u' ? changed.filter((column) => toldColumns.has(column)) : ['ruc'];
      return fields.map((campo) => ({ ruc, campo }));
    });
}
