import type { Logger } from '../../pipelines/runtime/log.ts';
import type { Pool } from '../../pipelines/runtime/postgres.ts';
import type { Lease } from './lease.ts';
import { leaseUsableMs } from './ledger.ts';
import { type Clock, monthOf } from './periods.ts';
import type { Questions } from './questions.ts';
import { giveBack, readUsedElsewhere, reportSpent } from './reports.ts';
import type { Wallet } from './wallet.ts';

/** What a killed process may have charged and not said. */
const reportEveryMs = 1_000;
/** A lease is renewed so often even when nothing was spent: 60 s of use are then still ahead of it, less these. */
export const renewEveryMs = 5_000;
/** An account that asked within it gets its next block before it needs it. */
const activeMs = 5_000;
/** An account that did not ask for so long gives its units back. */
const idleMs = 60_000;
/** A lease that nobody has answered for so long is forgotten: its row is added up. */
const forgottenMs = 600_000;

export interface ReporterParts {
  pool: Pool;
  questions: Questions;
  log: Logger;
  clock: Clock;
  wallets: Map<number, Wallet>;
  topUp(wallet: Wallet): void;
}

/** Tells PostgreSQL each second what was spent, and gives back what others ask for or nobody uses. */
export class Reporter {
  readonly #parts: ReporterParts;
  readonly #returning = new Set<number>();
  #timer: NodeJS.Timeout | undefined;
  #round: Promise<void> = Promise.resolve();
  #isStopped = false;
  #isFailing = false;

  constructor(parts: ReporterParts) {
    this.#parts = parts;
    parts.questions.onAsked('quota', (accountId) => this.#return(Number(accountId)));
  }

  start(): void {
    this.#timer = setTimeout(() => {
      this.#round = this.#report().finally(() => {
        if (!this.#isStopped) this.start();
      });
    }, reportEveryMs);
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    await this.#round;
    for (const wallet of this.#parts.wallets.values()) for (const lease of wallet.leases) wallet.retire(lease);
    await this.#report();
  }

  /** An engine that does not answer is tried again in a second: counts are absolute, nothing is lost meanwhile. */
  async #report(): Promise<void> {
    const { log } = this.#parts;
    try {
      this.#turn();
      await this.#reportAll();
      await this.#giveBackRetired();
      await this.#refresh();
      if (this.#isFailing) log.info('quota reports go through again');
      this.#isFailing = false;
    } catch (error) {
      if (!this.#isFailing)
        log.warn({ err: error }, 'quota reports do not go through; leases serve on until they lapse');
      this.#isFailing = true;
    }
  }

  #turn(): void {
    const { clock, wallets } = this.#parts;
    const nowMs = clock.monotonicMs();
    const month = monthOf(clock.wallMs()).firstDay;
    for (const wallet of wallets.values()) {
      wallet.turn(month, nowMs);
      const isIdle = nowMs - wallet.lastAskedMs > idleMs;
      if (isIdle) for (const lease of wallet.leases) wallet.retire(lease);
      wallet.retired = wallet.retired.filter((lease) => !isDone(lease) && nowMs - lease.renewedAtMs < forgottenMs);
      if (isIdle && wallet.retired.length === 0 && wallet.awaited === 0) wallets.delete(wallet.accountId);
    }
  }

  async #reportAll(): Promise<void> {
    const { clock, pool, wallets } = this.#parts;
    const nowMs = clock.monotonicMs();
    const leases = [...wallets.values()].flatMap((wallet) =>
      wallet.written.filter((lease) => lease.hasUnreported || nowMs - lease.renewedAtMs >= renewEveryMs),
    );
    if (leases.length === 0) return;
    const lives = await reportSpent(pool, leases);
    for (const lease of leases) {
      if (lives.get(lease.id) !== true) continue;
      lease.renewedAtMs = nowMs;
      lease.usableUntilMs = nowMs + leaseUsableMs;
    }
    for (const wallet of wallets.values())
      for (const lease of wallet.leases) if (lives.get(lease.id) === false) wallet.retire(lease);
  }

  async #giveBackRetired(): Promise<void> {
    for (const wallet of this.#parts.wallets.values())
      if (wallet.retired.some((lease) => lease.shrink())) await this.#giveBack(wallet, () => wallet.retired);
  }

  /** Another process is about to refuse this account: all that no request holds goes back at once. */
  async #return(accountId: number): Promise<boolean> {
    const wallet = this.#parts.wallets.get(accountId);
    // One that waits for its turn will give back what there is when its turn comes.
    if (wallet === undefined || wallet.written.length === 0 || this.#returning.has(accountId)) return false;
    this.#returning.add(accountId);
    try {
      await this.#giveBack(wallet, () => {
        this.#returning.delete(accountId);
        return wallet.written;
      });
    } finally {
      this.#returning.delete(accountId);
    }
    return true;
  }

  #giveBack(wallet: Wallet, leasesOf: () => readonly Lease[]): Promise<void> {
    return wallet.inTurn(async () => {
      const leases = leasesOf();
      for (const lease of leases) lease.shrink();
      if (leases.length > 0) await giveBack(this.#parts.pool, leases);
    });
  }

  async #refresh(): Promise<void> {
    const { clock, pool, wallets, topUp } = this.#parts;
    const nowMs = clock.monotonicMs();
    const active = [...wallets.values()].filter((wallet) => nowMs - wallet.lastAskedMs < activeMs);
    if (active.length === 0) return;
    const month = monthOf(clock.wallMs()).firstDay;
    const own = active.flatMap((wallet) => wallet.written);
    const used = await readUsedElsewhere(pool, month, [...active.map((wallet) => wallet.accountId)], own);
    for (const wallet of active) {
      const elsewhere = used.get(wallet.accountId);
      if (elsewhere !== undefined) wallet.learn(elsewhere);
      const hasMonth = (wallet.standing()?.remaining ?? 0) > wallet.free;
      if (!this.#isStopped && hasMonth && wallet.free < wallet.block / 2) topUp(wallet);
    }
  }
}

function isDone(lease: Lease): boolean {
  return lease.held === 0 && !lease.hasUnreported && lease.granted === lease.writtenGranted;
}
