import type { Logger } from '../../pipelines/runtime/log.ts';
import type { Pool } from '../../pipelines/runtime/postgres.ts';
import type { Lease } from './grant.ts';
import { leaseMs, leaseUsableMs } from './ledger.ts';
import { type Clock, monthOf } from './minute-limits.ts';
import type { Questions } from './questions.ts';
import type { Wallet } from './wallet.ts';

/**
 * Reports the spent units of these leases and renews the leases, with one statement for all accounts. The counts are
 * absolute, so nothing is lost when the process repeats the report, or dies before it reads the answer. The spending of
 * a lapsed lease still counts, but the lease is not renewed, because another process may have its units by now. Rows
 * that a transaction has locked wait for the next report, so that a long transaction does not delay this statement.
 * @returns for each written row, whether its lease has been renewed (true) or has lapsed (false)
 */
async function reportSpent(pool: Pool, leases: readonly Lease[]): Promise<Map<string, boolean>> {
  const spent = new Map(leases.map((lease) => [lease.id, lease.spent]));
  const { rows } = await pool.query<{ id: string; lives: boolean }>({
    name: 'quota-report',
    text: `WITH reported AS (
             SELECT l.id, r.spent FROM quota_lease l JOIN unnest($1::uuid[], $2::bigint[]) AS r (id, spent) ON r.id = l.id
             FOR UPDATE OF l SKIP LOCKED)
           UPDATE quota_lease l
           SET spent = greatest(l.spent, r.spent),
               expires_at = CASE WHEN l.expires_at > now() THEN now() + $3 * interval '1 millisecond' ELSE l.expires_at END
           FROM reported r
           WHERE l.id = r.id
           RETURNING l.id, l.expires_at > now() AS lives`,
    values: [[...spent.keys()], [...spent.values()], leaseMs],
  });
  const lives = new Map(rows.map((row) => [row.id, row.lives]));
  for (const lease of leases) if (lives.has(lease.id)) lease.reportedSpent = spent.get(lease.id)!;
  return lives;
}

/**
 * Returns to PostgreSQL the units that the leases have beyond `bound`. The caller must call `shrink` on the leases
 * before, so that no request takes a unit that is being returned. Repeating the call changes nothing. Every function
 * that writes several rows locks them in the order of their ids.
 */
async function giveBack(pool: Pool, leases: readonly Lease[]): Promise<void> {
  const spent = leases.map((lease) => lease.spent);
  const granted = leases.map((lease) => lease.granted);
  await pool.query({
    name: 'quota-give-back',
    text: `WITH given AS (
             SELECT l.id, r.granted, r.spent
             FROM quota_lease l JOIN unnest($1::uuid[], $2::bigint[], $3::bigint[]) AS r (id, granted, spent) ON r.id = l.id
             ORDER BY l.id FOR UPDATE OF l)
           UPDATE quota_lease l SET granted = g.granted, spent = greatest(l.spent, g.spent)
           FROM given g WHERE l.id = g.id`,
    values: [leases.map((lease) => lease.id), granted, spent],
  });
  leases.forEach((lease, index) => {
    lease.reportedSpent = Math.max(lease.reportedSpent, spent[index]!);
    lease.writtenGranted = granted[index]!;
  });
}

/** Returns each account's units of the month that were spent outside `ownLeases`. The last second may be missing. */
async function readUsedElsewhere(
  pool: Pool,
  month: string,
  accountIds: readonly number[],
  ownLeases: readonly Lease[],
): Promise<Map<number, number>> {
  const { rows } = await pool.query<{ account_id: number; used: number }>({
    name: 'quota-used-elsewhere',
    text: `SELECT a.account_id, (coalesce(m.used, 0) + coalesce(l.spent, 0))::bigint AS used
           FROM unnest($1::bigint[]) AS a (account_id)
           LEFT JOIN quota_month m ON m.account_id = a.account_id AND m.month = $2
           LEFT JOIN LATERAL (
             SELECT sum(spent + settled) AS spent FROM quota_lease
             WHERE account_id = a.account_id AND month = $2 AND purse = 'mes' AND id <> ALL ($3::uuid[])) l ON true`,
    values: [accountIds, month, ownLeases.map((lease) => lease.id)],
  });
  return new Map(rows.map((row) => [row.account_id, row.used]));
}

/** Pause between two reports. A process that is killed loses at most the charges since its last report. */
const reportEveryMs = 1_000;
/** A lease is renewed this often even without spending, so that it always has nearly 60 s (`leaseUsableMs`) ahead. */
export const renewEveryMs = 5_000;
/** After a request an account is active for this long. An active account gets its next block before it needs it. */
const activeMs = 5_000;
/** After this time without a request the account's units are returned. */
const idleMs = 60_000;
/** A lease is forgotten this long after its last confirmed report, because its row was added to the totals by then. */
const forgottenMs = 600_000;

export interface ReporterDependencies {
  pool: Pool;
  questions: Questions;
  log: Logger;
  clock: Clock;
  wallets: Map<number, Wallet>;
  topUp(wallet: Wallet): void;
}

/** Reports each second what was spent. Returns units that other processes ask for, and units of idle accounts. */
export class Reporter {
  readonly #dependencies: ReporterDependencies;
  readonly #returning = new Set<number>();
  #timer: NodeJS.Timeout | undefined;
  #round: Promise<void> = Promise.resolve();
  #isStopped = false;
  #isFailing = false;

  constructor(dependencies: ReporterDependencies) {
    this.#dependencies = dependencies;
    dependencies.questions.onAsked('quota', (accountId) => this.#return(Number(accountId)));
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
    for (const wallet of this.#dependencies.wallets.values()) for (const lease of wallet.leases) wallet.retire(lease);
    await this.#report();
  }

  /** A failed report is repeated after a second. The counts are absolute, so no spending is lost. */
  async #report(): Promise<void> {
    const { log } = this.#dependencies;
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
    const { clock, wallets } = this.#dependencies;
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
    const { clock, pool, wallets } = this.#dependencies;
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
    for (const wallet of this.#dependencies.wallets.values())
      if (wallet.retired.some((lease) => lease.shrink())) await this.#giveBack(wallet, () => wallet.retired);
  }

  /** Returns all unreserved units of an account at once, because another process is about to refuse the account. */
  async #return(accountId: number): Promise<boolean> {
    const wallet = this.#dependencies.wallets.get(accountId);
    // If a return of this account already waits for its turn, it will return all units, so nothing is left to do here.
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
      if (leases.length > 0) await giveBack(this.#dependencies.pool, leases);
    });
  }

  async #refresh(): Promise<void> {
    const { clock, pool, wallets, topUp } = this.#dependencies;
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
