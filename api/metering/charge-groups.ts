import { setImmediate as nextTurn } from 'node:timers/promises';
import { within } from '../../pipelines/runtime/lifecycle.ts';
import type { Logger } from '../../pipelines/runtime/log.ts';
import { inTransaction, type Pool } from '../../pipelines/runtime/postgres.ts';
import { type ApiProblem, isUnavailable, storeUnavailable } from '../problems.ts';
import { type ChargeDay, chargeAccount, chargeMonths, type Use, unitsLeft, withoutDiskWait } from './ledger.ts';
import type { Clock } from './minute-limits.ts';

/**
 * Longest time of the transaction that charges a group of requests. The transaction waits for no lock, so only a
 * PostgreSQL that is down or hangs takes longer.
 */
const groupTimeoutMs = 3_000;
/** Longest time to charge one account alone. Such a charge may wait for a connection and for the account's rows. */
const aloneTimeoutMs = 10_000;
/** After a failure groups do not ask PostgreSQL for this long, so that few requests wait for a database that hangs. */
export const restMs = 1_000;
/** Largest number of one account's charges that wait while the account is charged alone. */
export const maxQueued = 1_000;

/** The charge of one request. The request waits for `resolve` or `reject`, and only the first call of them counts. */
interface Charge {
  accountId: number;
  units: number;
  resolve(): void;
  reject(error: unknown): void;
}

export interface ChargeGroupsDependencies {
  pool: Pool;
  log: Logger;
  clock: Clock;
  /** Returns the day and the month that are charged now. */
  today(): ChargeDay;
  /** Receives an account's use after each charge, and after a charge for which the units did not suffice. */
  learn(accountId: number, month: string, use: Use): void;
  refusalOf(use: Use): ApiProblem;
}

/**
 * Charges requests in groups, each in one transaction. A group has the requests that are ready at the same moment, and
 * those that arrived while the earlier group ran. Requests are answered after the group's statement and before its
 * commit. So a crash costs the customers nothing, and the service at most one group:
 * - Before the statement: nobody was answered and nobody is charged.
 * - Before the commit: PostgreSQL rolls back, and the answered requests are free.
 */
export class ChargeGroups {
  readonly #dependencies: ChargeGroupsDependencies;
  #waiting: Charge[] = [];
  #isCharging = false;
  /**
   * The accounts that are charged alone now, each on its own connection, because a group could not charge them (see
   * `#chargeAlone`). An account's value has its charges that arrive meanwhile.
   */
  readonly #alone = new Map<number, Charge[]>();
  /**
   * Number of connections on which accounts can still be charged alone. It starts at half of the pool. Otherwise
   * accounts whose rows are locked could take every connection.
   */
  #freeSlots: number;
  readonly #waitingForSlot: (() => void)[] = [];
  #failure: { error: unknown; sinceMs: number; restsUntilMs: number } | null = null;

  constructor(dependencies: ChargeGroupsDependencies) {
    this.#dependencies = dependencies;
    this.#freeSlots = Math.max(1, Math.floor(dependencies.pool.options.max / 2));
  }

  /** Milliseconds since PostgreSQL began to fail, or null when the last group got an answer from it. */
  get awayMs(): number | null {
    return this.#failure === null ? null : this.#dependencies.clock.monotonicMs() - this.#failure.sinceMs;
  }

  /**
   * Charges all the units or none.
   * @throws the problem of `refusalOf` when the account has too few units
   * @throws ApiProblem servicio_no_disponible when the account's row is busy for too long
   * @throws pg's errors
   */
  charge(accountId: number, units: number): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#add({ accountId, units, resolve, reject });
      if (!this.#isCharging && this.#waiting.length > 0) void this.#chargeWaiting();
    });
  }

  #add(charge: Charge): void {
    const queue = this.#alone.get(charge.accountId);
    if (queue === undefined) this.#waiting.push(charge);
    else if (queue.length < maxQueued) queue.push(charge);
    else charge.reject(storeUnavailable(new Error(`${maxQueued} charges wait for the account's row`)));
  }

  async #chargeWaiting(): Promise<void> {
    this.#isCharging = true;
    // Look-ups that shared a ClickHouse query end in the same turn of the event loop, so their charges make one group.
    await nextTurn();
    for (let group = this.#takeGroup(); group.size > 0; group = this.#takeGroup()) await this.#chargeGroup(group);
    this.#isCharging = false;
  }

  #takeGroup(): Map<number, Charge[]> {
    const group = new Map<number, Charge[]>();
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const charge of waiting) {
      const charges = group.get(charge.accountId);
      // By now the account may be charged alone (`#chargeAlone`), for example because its row is locked. Then `#add`
      // puts the charge into the account's own queue.
      if (this.#alone.has(charge.accountId)) this.#add(charge);
      else if (charges === undefined) group.set(charge.accountId, [charge]);
      else charges.push(charge);
    }
    return group;
  }

  async #chargeGroup(group: ReadonlyMap<number, Charge[]>): Promise<void> {
    const { pool, learn, today } = this.#dependencies;
    const day = today();
    const left = new Map(group);
    const chargeIn = (requireWaiting: () => void) =>
      inTransaction(pool, async (client) => {
        const units = new Map([...group].map(([accountId, charges]) => [accountId, unitsOf(charges)]));
        const charged = await chargeMonths(client, day, units);
        requireWaiting();
        for (const [accountId, use] of charged) {
          learn(accountId, day.month, use);
          for (const { resolve } of group.get(accountId)!) resolve();
          left.delete(accountId);
        }
        await answersLeave();
      });
    try {
      this.#refuseWhileResting();
      await giveUpAfter(groupTimeoutMs, chargeIn);
      this.#noteAnswer();
    } catch (error) {
      this.#noteFailure(error);
      for (const { reject } of [...group.values()].flat()) reject(error);
      return;
    }
    for (const [accountId, charges] of left) void this.#chargeAlone(accountId, day, charges);
  }

  /** Charges an account whose month is used up or has no row yet, or whose row another transaction has locked. */
  async #chargeAlone(accountId: number, day: ChargeDay, charges: readonly Charge[]): Promise<void> {
    const queue: Charge[] = [];
    this.#alone.set(accountId, queue);
    try {
      await giveUpAfter(aloneTimeoutMs, (requireWaiting) =>
        this.#inSlot(() => this.#chargeFitting(accountId, day, charges, requireWaiting)),
      );
    } catch (error) {
      // `queue` has the account's charges that came meanwhile. These are refused too: they have waited already, and
      // in a second try they could wait for the same locked row for the whole timeout again.
      for (const { reject } of [...charges, ...queue.splice(0)]) reject(error);
    }
    this.#alone.delete(accountId);
    this.#waiting.push(...queue);
    if (!this.#isCharging && queue.length > 0) void this.#chargeWaiting();
  }

  /** Runs work that charges one account alone. Such works together take at most half of the pool's connections. */
  async #inSlot(work: () => Promise<void>): Promise<void> {
    if (this.#freeSlots > 0) this.#freeSlots -= 1;
    else await new Promise<void>((resolve) => this.#waitingForSlot.push(resolve));
    try {
      await work();
    } finally {
      const next = this.#waitingForSlot.shift();
      if (next === undefined) this.#freeSlots += 1;
      else next();
    }
  }

  /**
   * Charges the account for all charges at once. If the account's units do not suffice, nothing is charged, and the
   * charges that do not fit into the units (at least one) are refused. The next turn of the loop tries the others.
   */
  async #chargeFitting(
    accountId: number,
    day: ChargeDay,
    all: readonly Charge[],
    requireWaiting: () => void,
  ): Promise<void> {
    const { pool, learn, refusalOf } = this.#dependencies;
    for (let charges = all; charges.length > 0; ) {
      requireWaiting();
      charges = await inTransaction(pool, async (client) => {
        await client.query(withoutDiskWait);
        const { isCharged, use } = await chargeAccount(client, day, accountId, unitsOf(charges));
        requireWaiting();
        learn(accountId, day.month, use);
        if (!isCharged) return refuseUnfit(charges, use, refusalOf);
        for (const { resolve } of charges) resolve();
        await answersLeave();
        return [];
      });
    }
  }

  #refuseWhileResting(): void {
    const failure = this.#failure;
    if (failure !== null && this.#dependencies.clock.monotonicMs() < failure.restsUntilMs) throw failure.error;
  }

  #noteAnswer(): void {
    if (this.#failure !== null) this.#dependencies.log.info('look-ups are charged again');
    this.#failure = null;
  }

  /** Only groups note failures: an account that is charged alone may have waited for a lock, not for PostgreSQL. */
  #noteFailure(error: unknown): void {
    const { clock, log } = this.#dependencies;
    const nowMs = clock.monotonicMs();
    if (!isUnavailable(error) || error === this.#failure?.error) return;
    if (this.#failure === null) log.warn({ err: error }, 'PostgreSQL does not answer: look-ups are not charged');
    this.#failure = { error, sinceMs: this.#failure?.sinceMs ?? nowMs, restsUntilMs: nowMs + restMs };
  }
}

function unitsOf(charges: readonly Charge[]): number {
  return charges.reduce((units, charge) => units + charge.units, 0);
}

/** Returns the charges for which the account's units suffice together, and refuses the others. */
function refuseUnfit(charges: readonly Charge[], use: Use, refusalOf: (use: Use) => ApiProblem): Charge[] {
  let left = unitsLeft(use);
  return charges.filter(({ units, reject }) => {
    const isFitting = units <= left;
    if (isFitting) left -= units;
    else reject(refusalOf(use));
    return isFitting;
  });
}

/**
 * Waits until the requests whose charges were resolved are answered, which happens in the same turn of the event loop.
 */
const answersLeave = nextTurn;

/**
 * Rejects after `timeoutMs`, but does not stop the work. After the time the requests are answered without this charge,
 * so the work must not charge them any more. The work must therefore call `requireWaiting` after its last wait and
 * before it commits. `requireWaiting` throws when the time is over.
 */
async function giveUpAfter(timeoutMs: number, work: (requireWaiting: () => void) => Promise<void>): Promise<void> {
  let isGivenUp = false;
  const requireWaiting = () => {
    if (isGivenUp) throw new Error('the requests of this charge were answered without it');
  };
  await within(timeoutMs, work(requireWaiting)).finally(() => {
    isGivenUp = true;
  });
}
