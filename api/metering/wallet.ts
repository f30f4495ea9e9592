import { Lease, type Part, takeUnits } from './grant.ts';
import { type GrantAnswer, leaseUsableMs, leftOver } from './ledger.ts';

/** After a refusal the account is not asked about again for so long, however many requests come; new credit works after it. */
export const refusalMs = 1_000;

interface Refusal {
  /** Units there were in all: fewer may still be reserved. */
  available: number;
  untilMs: number;
  /** When asking again may help, of the wall clock. */
  retryAtMs: number;
}

/** One account's leases in this process. Pure bookkeeping: it asks no one. */
export class Wallet {
  readonly accountId: number;
  mes: Lease;
  prepago: Lease;
  /** Of a past month, or lapsed: nothing is taken from them, what requests under way charge is still reported. */
  retired: Lease[] = [];
  refusal: Refusal | null = null;
  /** Units that requests wait for. */
  awaited = 0;
  block = 0;
  lastAskedMs = 0;
  #known: { limit: number; usedElsewhere: number } | null = null;
  /** One write of grants at a time: see ledger.ts. */
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

  /** Of requests under way: what these do not charge comes back with their end. */
  get held(): number {
    return this.mes.held + this.prepago.held;
  }

  /** All the units or null; of the month first. */
  take(units: number): Part[] | null {
    return takeUnits(this.leases, units);
  }

  /** Leaves leases of another month, and lapsed ones, behind. */
  turn(month: string, monotonicMs: number): void {
    const isPast = (lease: Lease) => lease.month !== month || (lease.isWritten && monotonicMs >= lease.usableUntilMs);
    if (isPast(this.mes)) {
      if (this.mes.month !== month) this.#known = this.refusal = null;
      this.mes = this.#replace(this.mes, month);
    }
    if (isPast(this.prepago)) this.prepago = this.#replace(this.prepago, month);
  }

  /** It lapsed, is idle, or it is not known whether its row was made: nothing more is taken from it. */
  retire(lease: Lease): void {
    if (lease === this.mes) this.mes = this.#replace(lease, lease.month);
    if (lease === this.prepago) this.prepago = this.#replace(lease, lease.month);
  }

  #replace(lease: Lease, month: string): Lease {
    if (lease.isWritten) this.retired.push(lease);
    return new Lease(lease.purse, month);
  }

  /** The grant is ours from before it was asked for, by our clock. */
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

  /** Every lease that has a row. */
  get written(): Lease[] {
    return [...this.leases, ...this.retired].filter((lease) => lease.isWritten);
  }

  learn(usedElsewhere: number): void {
    if (this.#known !== null) this.#known.usedElsewhere = usedElsewhere;
  }

  /** What is left of the month, of all processes as last read; null: never read. */
  standing(): { limit: number; remaining: number } | null {
    if (this.#known === null) return null;
    const { limit, usedElsewhere } = this.#known;
    const here = [this.mes, ...this.retired.filter((lease) => lease.purse === 'mes' && lease.month === this.mes.month)];
    const used = usedElsewhere + here.reduce((sum, lease) => sum + lease.spent + lease.settled, 0);
    return { limit, remaining: Math.max(0, limit - used) };
  }

  /** Runs after the account's earlier writes, whether those failed or not. */
  inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
    const turn = this.#last.then(work, work);
    this.#last = turn.catch(() => {});
    return turn;
  }
}
