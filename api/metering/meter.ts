import { Counter, type Registry } from 'prom-client';
import { within } from '../../pipelines/runtime/lifecycle.ts';
import type { Logger } from '../../pipelines/runtime/log.ts';
import type { Pool, PoolClient } from '../../pipelines/runtime/postgres.ts';
import { limaDay } from '../../schemas/lima-time.ts';
import type { Caller } from '../accounts/callers.ts';
import { ApiProblem, isUnavailable, storeUnavailable } from '../problems.ts';
import { ChargeGroups } from './charge-groups.ts';
import { type ChargeDay, chargeAccount, readUse, type Use, unitsLeft } from './ledger.ts';
import { type Clock, type Month, monthOf, secondsUntil, systemClock } from './minute-limits.ts';

/** The account that pays for a look-up. */
export type Payer = Pick<Caller, 'accountId'>;

/**
 * An account's units of the month, as far as this process knows. Charges that other processes made in the last second
 * may be missing.
 */
export interface Standing {
  month: Month;
  limit: number;
  remaining: number;
}

/**
 * How long an account's use counts as fresh after it was read. An account without units may be refused for this long
 * after it has got prepaid units.
 */
export const freshMs = 1_000;
/** Look-ups are answered without charge for at most this long after PostgreSQL began to fail. */
export const servedUnchargedMs = 60_000;
/** Longest read of the units of an account that this process does not know yet. */
const readTimeoutMs = 5_000;
/** Longest wait for the units that an answer's month headers show. After it, an answer may lack these headers. */
const standingTimeoutMs = 500;
const maxAccounts = 50_000;

interface Known {
  month: string;
  use: Use;
  readAtMs: number;
  /** Units of look-ups that were answered without charge since `readAtMs`. */
  uncharged: number;
}

/** Checks and charges the quotas of accounts. README.md explains the design, and which other designs were refused. */
export class Meter {
  readonly #pool: Pool;
  readonly #clock: Clock;
  readonly #groups: ChargeGroups;
  readonly #uncharged: Counter;
  readonly #known = new Map<number, Known>();
  readonly #reading = new Map<number, Promise<Known>>();
  #month: Month;

  constructor(pool: Pool, metrics: Registry, log: Logger, clock: Clock = systemClock) {
    this.#pool = pool;
    this.#clock = clock;
    this.#month = monthOf(clock.wallMs());
    this.#groups = new ChargeGroups({
      pool,
      log,
      clock,
      today: () => this.#today(),
      learn: (accountId, month, use) => void this.#learn(accountId, month, use),
      refusalOf: (use) => this.#exhausted(use),
    });
    this.#uncharged = new Counter({
      name: 'padron_api_uncharged_units_total',
      help: 'Units of look-ups that were answered without charge because PostgreSQL did not answer.',
      registers: [metrics],
    });
  }

  /**
   * Checks the units before a look-up, so that an account without units causes no look-up. Nothing is reserved: other
   * requests may use the units meanwhile, and only `charge` decides.
   * @throws ApiProblem cuota_agotada when the units do not suffice; servicio_no_disponible when the units are not known
   *   here and PostgreSQL does not answer
   */
  async requireUnits({ accountId }: Payer, units: number): Promise<void> {
    let known = this.#knownOf(accountId);
    if (known === undefined || (unitsLeft(known.use) < units && !this.#isFresh(known)))
      known = await within(readTimeoutMs, this.#read(accountId)).catch((error: unknown) => {
        throw isUnavailable(error) ? storeUnavailable(error) : error;
      });
    if (unitsLeft(known.use) < units) throw this.#exhausted(known.use);
  }

  /**
   * Charges all the units or none. Call this last and send the answer at once, because the commit follows in the next
   * turn of the event loop. If the process dies before the commit, the look-up is free.
   * @throws ApiProblem cuota_agotada when the units do not suffice; servicio_no_disponible when the units cannot be
   *   charged and `#admitUncharged` does not let the look-up pass
   */
  async charge({ accountId }: Payer, units: number): Promise<void> {
    try {
      await this.#groups.charge(accountId, units);
    } catch (error) {
      if (!isUnavailable(error)) throw error;
      this.#admitUncharged(accountId, units, error);
    }
  }

  /**
   * Charges in the caller's transaction, so that the charge and the stored answer are committed together or not at all.
   * Commit soon, because the account's rows stay locked until the commit.
   * @throws ApiProblem cuota_agotada when the units do not suffice; servicio_no_disponible when the account's rows stay
   *   locked for too long
   * @throws pg's errors
   */
  async chargeInTransaction(client: PoolClient, { accountId }: Payer, units: number): Promise<void> {
    const today = this.#today();
    const { isCharged, use } = await chargeAccount(client, today, accountId, units);
    this.#learn(accountId, today.month, use);
    if (!isCharged) throw this.#exhausted(use);
  }

  /** Returns null when this process does not know the account's units and PostgreSQL does not answer. */
  async standing({ accountId }: Payer): Promise<Standing | null> {
    let known = this.#knownOf(accountId);
    const mayRead = known === undefined || this.#groups.awayMs === null;
    if (mayRead && (known === undefined || !this.#isFresh(known)))
      known = await within(standingTimeoutMs, this.#read(accountId)).catch(() => known);
    if (known === undefined) return null;
    const { limit, used } = known.use;
    return { month: this.#monthNow(), limit, remaining: Math.max(0, limit - used) };
  }

  /**
   * Lets a look-up pass without charge while PostgreSQL does not answer. The account's last known units must suffice,
   * and `servedUnchargedMs` must not be over. Otherwise it throws servicio_no_disponible (503), not 429, because the
   * current units are unknown. It also throws 503 when only the account's rows were locked for too long.
   */
  #admitUncharged(accountId: number, units: number, cause: unknown): void {
    const known = this.#knownOf(accountId);
    const isCovered = known !== undefined && unitsLeft(known.use) - known.uncharged >= units;
    const { awayMs } = this.#groups;
    if (!isCovered || awayMs === null || awayMs >= servedUnchargedMs) throw storeUnavailable(cause);
    known.uncharged += units;
    this.#uncharged.inc(units);
  }

  #read(accountId: number): Promise<Known> {
    const running = this.#reading.get(accountId);
    if (running) return running;
    const month = this.#monthNow().firstDay;
    const reading = readUse(this.#pool, accountId, month)
      .then((use) => {
        if (use === null) throw new Error(`account ${accountId} does not exist`);
        return this.#learn(accountId, month, use);
      })
      .finally(() => this.#reading.delete(accountId));
    this.#reading.set(accountId, reading);
    return reading;
  }

  #learn(accountId: number, month: string, use: Use): Known {
    const known = { month, use, readAtMs: this.#clock.monotonicMs(), uncharged: 0 };
    this.#known.delete(accountId);
    this.#known.set(accountId, known);
    // A map keeps the order of insertion, so the first account is the one that was read or charged longest ago.
    if (this.#known.size > maxAccounts) this.#known.delete(this.#known.keys().next().value as number);
    return known;
  }

  #knownOf(accountId: number): Known | undefined {
    const known = this.#known.get(accountId);
    return known?.month === this.#monthNow().firstDay ? known : undefined;
  }

  #isFresh({ readAtMs }: Known): boolean {
    return this.#clock.monotonicMs() - readAtMs < freshMs;
  }

  /** Returns the current month. It is computed only when the month changes, because every request asks for it. */
  #monthNow(): Month {
    const nowMs = this.#clock.wallMs();
    if (nowMs < this.#month.startsAtMs || nowMs >= this.#month.endsAtMs) this.#month = monthOf(nowMs);
    return this.#month;
  }

  #today(): ChargeDay {
    // The month is read first. At midnight between two months the day can then only be of the later one, so it is
    // moved back into the month that is charged.
    const { firstDay, endsAtMs } = this.#monthNow();
    return { month: firstDay, day: limaDay(new Date(Math.min(this.#clock.wallMs(), endsAtMs - 1))) };
  }

  /** Retry-After is the time to the next month. Repeating earlier helps only if the account gets new units. */
  #exhausted(use: Use): ApiProblem {
    const left = unitsLeft(use);
    return new ApiProblem(
      'cuota_agotada',
      `La cuota del mes y el saldo prepago no alcanzan: quedan ${left} consultas.`,
      { disponible: left },
      { 'Retry-After': String(secondsUntil(this.#monthNow().endsAtMs, this.#clock.wallMs())) },
    );
  }
}
