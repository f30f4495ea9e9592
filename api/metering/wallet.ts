import { Lease, type Part, takeUnits } from './grant.ts';
import { type GrantAnswer, leaseUsableMs, leftOver } from './ledger.ts';

/** After a refusal the meter does not ask PostgreSQL again for this long. New prepaid units count only after it. */
export const refusalMs = 1_000;

interface Refusal {
  /** Units that were left at the refusal. A request for at most this many units is not refused. */
  available: number;
  /** Time of the monotonic clock until which the refusal holds. */
  untilMs: number;
  /** Time of the wall clock at which the units may suffice again. */
  retryAtMs: number;
}

/** One account's leases in this process. The class only counts and does no I/O. */
export class Wallet {
  readonly accountId: number;
  mes: Lease;
  prepago: Lease;
  /** Lapsed, idle or past leases. No more units are taken from them, but charges of requests in flight are reported. */
  retired: Lease[] = [];
  refusal: Refusal | null = null;
  /** Units that waiting requests need. */
  awaited = 0;
  block = 0;
  lastAskedMs = 0;
  #known: { limit: number; usedElsewhere: number } | null = null;
  /** The last write of `inTurn`. The account's writes run one after the other, because ledger.ts depends on that. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(accountId: number, month: string) {
    this.accountId = accountId;
    this.mes = new Lease('mes', month);
    this.prepago = new Lease('prepago', month);
  }

  get leases(): Lease[] {
    return [this.mes, this.prepago];
  }

  get free(): number {
    return this.mes.free + this.prepago.free;
  }

  /** Units reserved by requests in flight. Units that these requests do not charge become free again. */
  get held(): number {
    return this.mes.held + this.prepago.held;
  }

  /** Reserves the units, first from the month's lease. Returns null when the leases have too few. */
  take(units: number): Part[] | null {
    return takeUnits(this.leases, units);
  }

  /** Retires leases that lapsed or are of another month. */
  turn(month: string, monotonicMs: number): void {
    const isPast = (lease: Lease) => lease.month !== month || (lease.isWritten && monotonicMs >= lease.usableUntilMs);
    if (isPast(this.mes)) {
      if (this.mes.month !== month) this.#known = this.refusal = null;
      this.mes = this.#replace(this.mes, month);
    }
    if (isPast(this.prepago)) this.prepago = this.#replace(this.prepago, month);
  }

  /** Replaces a lease from which no more units may be taken: it has lapsed, is idle, or may or may not have a row. */
  retire(lease: Lease): void {
    if (lease === this.mes) this.mes = this.#replace(lease, lease.month);
    if (lease === this.prepago) this.prepago = this.#replace(lease, lease.month);
  }

  #replace(lease: Lease, month: string): Lease {
    if (lease.isWritten) this.retired.push(lease);
    return new Lease(lease.purse, month);
  }

  /** Adds the granted units. The lease's time counts from `askedAtMs`, so that it ends before the lease lapses. */
  receive(answer: GrantAnswer, leases: readonly Lease[], askedAtMs: number): void {
    for (const lease of leases) {
      const units = answer.grant[lease.purse];
      if (units === 0) continue;
      lease.granted += units;
      lease.writtenGranted = lease.granted;
      lease.renewedAtMs = askedAtMs;
      lease.usableUntilMs = askedAtMs + leaseUsableMs;
    }
    const { limit, used, usedHere } = answer.funds;
    this.#known = { limit, usedElsewhere: used - usedHere };
  }

  refuse(answer: GrantAnswer, monotonicMs: number, retryAtMs: number): void {
    this.refusal = { available: leftOver(answer) + this.free, untilMs: monotonicMs + refusalMs, retryAtMs };
  }

  /** The leases that have a row in PostgreSQL. */
  get written(): Lease[] {
    return [...this.leases, ...this.retired].filter((lease) => lease.isWritten);
  }

  learn(usedElsewhere: number): void {
    if (this.#known !== null) this.#known.usedElsewhere = usedElsewhere;
  }

  /** Returns the month's limit and the units left over all processes, as last read. Null before the first read. */
  standing(): { limit: number; remaining: number } | null {
    if (this.#known === null) return null;
    const { limit, usedElsewhere } = this.#known;
    const here = [this.mes, ...this.retired.filter((lease) => lease.purse === 'mes' && lease.month === this.mes.month)];
    const used = usedElsewhere + here.reduce((sum, lease) => sum + lease.spent + lease.settled, 0);
    return { limit, remaining: Math.max(0, limit - used) };
  }

  /** Runs the work after the account's earlier writes have ended, even when these failed. */
  inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
    const turn = this.#last.then(work, work);
    this.#last = turn.catch(() => {});
    return turn;
  }
}
