import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '../../pipelines/runtime/log.ts';
import type { Pool, PoolClient } from '../../pipelines/runtime/postgres.ts';
import { ApiProblem, isUnavailable, storeUnavailable, within } from '../problems.ts';
import type { Part } from './grant.ts';
import { type GrantAnswer, grantUnits, LeaseLost, leftOver } from './ledger.ts';
import { type Clock, type Month, monthOf, secondsUntil, systemClock } from './minute-limits.ts';
import type { Questions } from './questions.ts';
import { Reporter } from './reports.ts';
import type { Meter, Payer, Reservation, Standing } from './types.ts';
import { Wallet } from './wallet.ts';

/** Before a 429 the meter waits this long for units that other processes or requests in flight here may return. */
const recallWaitMs = 1_000;
/** Pause between two tries within `recallWaitMs`. */
const askStepMs = 40;
/** A grant that takes longer counts as failed, so that no request waits for a database that hangs. */
const grantTimeoutMs = 3_000;
/** An answer waits at most this long for the data of its month headers, because it can do without them. */
const standingTimeoutMs = 500;

export interface RunningMeter extends Meter {
  start(): void;
  /** Gives all leases back to PostgreSQL. Call it when no request is in flight. */
  stop(): Promise<void>;
}

/** Makes the meter, which counts accounts' quotas with leased blocks (README.md explains it). ledger.ts has the SQL. */
export function makeMeter(pool: Pool, questions: Questions, log: Logger, clock: Clock = systemClock): RunningMeter {
  return new LeasingMeter(pool, questions, log, clock);
}

class LeasingMeter implements RunningMeter {
  readonly #pool: Pool;
  readonly #questions: Questions;
  readonly #clock: Clock;
  readonly #wallets = new Map<number, Wallet>();
  readonly #filling = new Map<number, Promise<void>>();
  readonly #reporter: Reporter;
  #month: Month;

  constructor(pool: Pool, questions: Questions, log: Logger, clock: Clock) {
    this.#pool = pool;
    this.#questions = questions;
    this.#clock = clock;
    this.#month = monthOf(clock.wallMs());
    this.#reporter = new Reporter({
      pool,
      questions,
      log,
      clock,
      wallets: this.#wallets,
      topUp: (wallet) => void this.#fill(wallet, 0, true).catch(() => {}),
    });
  }

  start(): void {
    this.#reporter.start();
  }

  stop(): Promise<void> {
    return this.#reporter.stop();
  }

  async reserve({ accountId, requestsPerMinute }: Payer, units: number): Promise<Reservation> {
    const wallet = this.#walletOf(accountId);
    wallet.block = requestsPerMinute;
    wallet.lastAskedMs = this.#clock.monotonicMs();
    wallet.awaited += units;
    try {
      for (;;) {
        this.#turn(wallet);
        const parts = wallet.take(units);
        if (parts !== null) return new LeasedReservation(parts);
        this.#refuseIfKnown(wallet, units);
        await this.#fill(wallet, units, false);
      }
    } finally {
      wallet.awaited -= units;
    }
  }

  async standing({ accountId }: Payer): Promise<Standing | null> {
    const wallet = this.#walletOf(accountId);
    wallet.lastAskedMs = this.#clock.monotonicMs();
    this.#turn(wallet);
    // The standing is null when this process has not yet reserved units of the account.
    if (wallet.standing() === null) await within(standingTimeoutMs, this.#fill(wallet, 0, true)).catch(() => {});
    const standing = wallet.standing();
    return standing === null ? null : { ...standing, month: this.#monthNow() };
  }

  /** Returns the current month. It is computed only when the month changes, because every request asks for it. */
  #monthNow(): Month {
    const nowMs = this.#clock.wallMs();
    if (nowMs < this.#month.startsAtMs || nowMs >= this.#month.endsAtMs) this.#month = monthOf(nowMs);
    return this.#month;
  }

  #walletOf(accountId: number): Wallet {
    let wallet = this.#wallets.get(accountId);
    if (wallet === undefined) {
      wallet = new Wallet(accountId, this.#monthNow().firstDay);
      this.#wallets.set(accountId, wallet);
    }
    return wallet;
  }

  #turn(wallet: Wallet): void {
    wallet.turn(this.#monthNow().firstDay, this.#clock.monotonicMs());
  }

  #refuseIfKnown({ refusal, held }: Wallet, units: number): void {
    if (refusal === null || this.#clock.monotonicMs() >= refusal.untilMs || units <= refusal.available) return;
    const { available, retryAtMs } = refusal;
    const nowMs = this.#clock.wallMs();
    // If units of requests in flight here would suffice, the caller may repeat at once: these requests end soon.
    const againAtMs = units <= available + held ? nowMs : retryAtMs;
    throw new ApiProblem(
      'cuota_agotada',
      `La cuota del mes y el saldo prepago no alcanzan: quedan ${available} consultas.`,
      { disponible: available },
      { 'Retry-After': String(secondsUntil(againAtMs, nowMs)) },
    );
  }

  /** Runs one fill per account at a time. Requests that arrive during a fill wait for it and then try again. */
  #fill(wallet: Wallet, units: number, isAhead: boolean): Promise<void> {
    const running = this.#filling.get(wallet.accountId);
    if (running) return running;
    const filling = this.#collect(wallet, units, isAhead).finally(() => this.#filling.delete(wallet.accountId));
    this.#filling.set(wallet.accountId, filling);
    return filling;
  }

  /**
   * Asks for units until the wallet has them or has a refusal.
   * @param isAhead true for a fill before units are needed; it asks no other process and ends after one grant
   */
  async #collect(wallet: Wallet, units: number, isAhead: boolean): Promise<void> {
    const deadlineMs = this.#clock.monotonicMs() + recallWaitMs;
    for (;;) {
      const isRecallOver = this.#clock.monotonicMs() >= deadlineMs;
      const answer = await this.#ask(wallet, units, isRecallOver && !isAhead);
      if (answer === null) continue;
      if (wallet.free >= units || isAhead) return;
      const isElsewhere = isLeasedElsewhere(answer);
      const mayComeBack = isElsewhere || units <= leftOver(answer) + wallet.free + wallet.held;
      if (isRecallOver || !mayComeBack) {
        wallet.refuse(answer, this.#clock.monotonicMs(), this.#retryAtMs(answer));
        return;
      }
      if (isElsewhere) await this.#questions.ask('quota', String(wallet.accountId), askStepMs).catch(orUnavailable);
      else await sleep(askStepMs);
    }
  }

  /** Returns when other processes' leases lapse, or when the next month begins if that is earlier. */
  #retryAtMs(answer: GrantAnswer): number {
    const monthEndsAtMs = this.#monthNow().endsAtMs;
    if (!isLeasedElsewhere(answer)) return monthEndsAtMs;
    return Math.min(this.#clock.wallMs() + answer.funds.elsewhereLapsesInMs, monthEndsAtMs);
  }

  /** Asks PostgreSQL for units. Returns null when a lease has lapsed: then the caller asks again with a new lease. */
  async #ask(wallet: Wallet, units: number, isRecallOver: boolean): Promise<GrantAnswer | null> {
    this.#turn(wallet);
    return wallet.inTurn(async () => {
      const askedAtMs = this.#clock.monotonicMs();
      const { mes, prepago, retired } = wallet;
      try {
        const answer = await within(
          grantTimeoutMs,
          grantUnits(this.#pool, {
            accountId: wallet.accountId,
            month: mes.month,
            leases: { mes, prepago, retired },
            missing: Math.max(0, units - wallet.free),
            block: Math.max(wallet.block - wallet.free, wallet.awaited),
            isRecallOver,
          }),
        );
        wallet.receive(answer, [mes, prepago], askedAtMs);
        return answer;
      } catch (error) {
        // The grant may or may not have been committed. A new lease is not used, and its units lapse. An old lease is
        // used without the added units, and its next write lowers `granted` again.
        const isLost = error instanceof LeaseLost;
        for (const lease of [mes, prepago]) if (isLost || !lease.isWritten) wallet.retire(lease);
        if (isLost) return null;
        return orUnavailable(error);
      }
    });
  }
}

function isLeasedElsewhere({ funds: { leasedElsewhere } }: GrantAnswer): boolean {
  return leasedElsewhere.mes + leasedElsewhere.prepago > 0;
}

function orUnavailable(error: unknown): never {
  throw isUnavailable(error) ? storeUnavailable(error) : error;
}

/** Units reserved from leases. The month's units are charged first. */
export class LeasedReservation implements Reservation {
  #parts: Part[];

  constructor(parts: Part[]) {
    this.#parts = parts;
  }

  charge(units: number): void {
    for (const { lease, units: taken } of this.#cut(units)) {
      lease.held -= taken;
      lease.spent += taken;
    }
  }

  release(): void {
    for (const { lease, units } of this.#parts) lease.held -= units;
    this.#parts = [];
  }

  /**
   * Writes the charge in the caller's transaction. The lease's row stays locked until the transaction ends, so commit
   * soon. After a process has stalled for ten minutes, its rows are gone and the customer is not charged.
   */
  async chargeInTransaction(client: PoolClient, units: number): Promise<() => void> {
    const parts = this.#look(units).sort((a, b) => (a.lease.id < b.lease.id ? -1 : 1));
    for (const { lease, units: charged } of parts)
      await client.query({ name: 'quota-settle', text: settleText, values: [lease.id, charged] });
    return () => {
      for (const { lease, units: charged } of this.#cut(units)) {
        lease.held -= charged;
        lease.settled += charged;
      }
    };
  }

  #look(units: number): Part[] {
    let missing = units;
    const parts: Part[] = [];
    for (const { lease, units: held } of this.#parts) {
      const taken = Math.min(held, missing);
      if (taken > 0) parts.push({ lease, units: taken });
      missing -= taken;
    }
    if (missing > 0) throw new RangeError(`a charge of ${units} is more than was reserved`);
    return parts;
  }

  #cut(units: number): Part[] {
    const cut = this.#look(units);
    for (const { lease, units: taken } of cut) this.#parts.find((part) => part.lease === lease)!.units -= taken;
    return cut;
  }
}

const settleText = 'UPDATE quota_lease SET settled = settled + $2 WHERE id = $1';

/**
 * Charges in the caller's transaction, so that the charge and the stored answer are committed together. In any case
 * call `release` on the reservation.
 * @returns a function to call after the commit. Do not call it when the outcome of the commit is unknown. Then this
 *   process may count too few units, in the customer's favour, while the account's sum in PostgreSQL is right.
 */
export function chargeInTransaction(client: PoolClient, reservation: Reservation, units: number): Promise<() => void> {
  if (!(reservation instanceof LeasedReservation)) throw new TypeError('the reservation is not of this meter');
  return reservation.chargeInTransaction(client, units);
}
