import type { Logger } from '../../deploy/runtime/log.ts';
import type { Pool } from '../../deploy/runtime/postgres.ts';
import { ApiProblem, storeUnavailable } from '../problems.ts';
import { isUnavailable, within } from '../stores.ts';
import { type GrantAnswer, grantUnits, LeaseLost } from './ledger.ts';
import type { Notices } from './notices.ts';
import { type Clock, type Month, monthOf, secondsUntil, systemClock } from './periods.ts';
import { Reporter } from './reporter.ts';
import { LeasedReservation } from './reservation.ts';
import type { Meter, Payer, Reservation, Standing } from './types.ts';
import { Wallet } from './wallet.ts';

/** Before a 429 the others are asked for what they hold, and waited for so long. */
const recallWaitMs = 1_000;
const askStepMs = 40;
/** A grant that takes longer counts as failed: a request must not wait for a database that hangs. */
const grantTimeoutMs = 3_000;

export interface RunningMeter extends Meter {
  start(): void;
  /** Gives all leases back. Call it once no request is under way. */
  stop(): Promise<void>;
}

/** The quota of accounts by leased blocks: README.md says how, ledger.ts what PostgreSQL holds. */
export function makeMeter(pool: Pool, notices: Notices, log: Logger, clock: Clock = systemClock): RunningMeter {
  return new LeasingMeter(pool, notices, log, clock);
}

class LeasingMeter implements RunningMeter {
  readonly #pool: Pool;
  readonly #notices: Notices;
  readonly #clock: Clock;
  readonly #wallets = new Map<number, Wallet>();
  readonly #filling = new Map<number, Promise<void>>();
  readonly #reporter: Reporter;
  #month: Month;

  constructor(pool: Pool, notices: Notices, log: Logger, clock: Clock) {
    this.#pool = pool;
    this.#notices = notices;
    this.#clock = clock;
    this.#month = monthOf(clock.wallMs());
    this.#reporter = new Reporter({
      pool,
      notices,
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

  standing(accountId: number): Standing | null {
    const standing = this.#wallets.get(accountId)?.standing() ?? null;
    return standing === null ? null : { ...standing, month: this.#monthNow() };
  }

  /** Worked out once a month, not with every request. */
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

  #refuseIfKnown({ refusal }: Wallet, units: number): void {
    if (refusal === null || this.#clock.monotonicMs() >= refusal.untilMs || units <= refusal.available) return;
    throw this.#exhausted(refusal);
  }

  #exhausted({ available, retryAtMs }: { available: number; retryAtMs: number }): ApiProblem {
    return new ApiProblem(
      'cuota_agotada',
      `La cuota del mes y el saldo prepago no alcanzan: quedan ${available} consultas.`,
      { disponible: available },
      { 'Retry-After': String(secondsUntil(retryAtMs, this.#clock.wallMs())) },
    );
  }

  /** One fill per account at a time; who comes meanwhile waits for it and looks again. */
  #fill(wallet: Wallet, units: number, isAhead: boolean): Promise<void> {
    const running = this.#filling.get(wallet.accountId);
    if (running) return running;
    const filling = this.#collect(wallet, units, isAhead).finally(() => this.#filling.delete(wallet.accountId));
    this.#filling.set(wallet.accountId, filling);
    return filling;
  }

  /** Ends when the wallet holds the units, or a refusal is known; ahead of need, after one grant without asking the others. */
  async #collect(wallet: Wallet, units: number, isAhead: boolean): Promise<void> {
    const deadlineMs = this.#clock.monotonicMs() + recallWaitMs;
    for (;;) {
      const isRecallOver = this.#clock.monotonicMs() >= deadlineMs;
      const answer = await this.#ask(wallet, units, isRecallOver && !isAhead);
      if (answer === null) continue;
      if (wallet.free >= units || isAhead) return;
      const { mes, prepago } = answer.funds.leasedElsewhere;
      if (isRecallOver || mes + prepago === 0) {
        const { wallMs } = this.#clock;
        const monthEndsAtMs = this.#monthNow().endsAtMs;
        const lapseAtMs = wallMs() + answer.funds.elsewhereLapsesInMs;
        wallet.refuse(
          answer,
          this.#clock.monotonicMs(),
          mes + prepago === 0 ? monthEndsAtMs : Math.min(lapseAtMs, monthEndsAtMs),
        );
        return;
      }
      await this.#notices.ask('quota', String(wallet.accountId), askStepMs).catch(orUnavailable);
    }
  }

  /** null: a lease had lapsed; ask again with a new one. */
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
        // A new lease whose row may or may not be there is not used again: what it got lapses. Units added to an old one
        // are unknown here: its next write says the lower count.
        const isLost = error instanceof LeaseLost;
        for (const lease of [mes, prepago]) if (isLost || !lease.isWritten) wallet.retire(lease);
        if (isLost) return null;
        return orUnavailable(error);
      }
    });
  }
}

function orUnavailable(error: unknown): never {
  throw isUnavailable(error) ? storeUnavailable(error) : error;
}
