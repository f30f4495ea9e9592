import ipaddr from 'ipaddr.js';
import { RateLimiterMemory, RateLimiterPostgres, type RateLimiterRes } from 'rate-limiter-flexible';
import type { Pool } from '../../pipelines/runtime/postgres.ts';
import { limaDay, startOfLimaDay } from '../../schemas/lima-time.ts';
import type { Caller } from '../accounts/callers.ts';
import { within } from '../problems.ts';
import type { Questions } from './questions.ts';

export interface MinuteStanding {
  /** false: the minute's requests are used up, and this one is not counted. */
  isWithin: boolean;
  limit: number;
  remaining: number;
  endsAtMs: number;
}

export interface MinuteLimits {
  /** Counts one request. Never rejects: without PostgreSQL the process counts alone. */
  count(subject: MinuteSubject): Promise<MinuteStanding>;
}

/** A process takes this part of what is left of the minute at a time, so that other processes find some too. */
const shareOfLeft = 8;
/** A request waits no longer for PostgreSQL. After a failure the process counts alone for a while and does not ask. */
const storeTimeoutMs = 500;
const storeRestMs = 2_000;
/** Before a 429 the other processes are asked to give back what they hold: each time for a step, and in all for so long. */
const recallWaitMs = 150;
const askStepMs = 50;
/** After a 429 the subject's other requests are refused for this long without asking again. */
const emptyMs = 1_000;
const maxSubjects = 100_000;

type Counter = Pick<RateLimiterPostgres, 'penalty' | 'reward'>;

interface Share {
  subject: MinuteSubject;
  minute: number;
  endsAtMs: number;
  /** Taken from the minute and not used yet. */
  free: number;
  /** Taken by all processes, as far as this one knows. */
  taken: number;
  filling: Promise<void> | null;
  /** Nothing was left of the minute: PostgreSQL is not asked again until then. */
  emptyUntilMs: number;
}

/**
 * Fixed clock minutes, the same for all processes. Each process takes small shares of the minute from one counter in
 * PostgreSQL and counts its requests against them in memory: no write per request, and never more than the limit over all
 * processes. README.md has the options refused.
 */
export function makeMinuteLimits(pool: Pool, questions: Questions, wallMs: () => number = Date.now): MinuteLimits {
  return new SharedMinutes(pool, questions, wallMs);
}

class SharedMinutes implements MinuteLimits {
  readonly #shares = new Map<string, Share>();
  readonly #questions: Questions;
  readonly #wallMs: () => number;
  readonly #shared: RateLimiterPostgres;
  readonly #alone: RateLimiterMemory;
  #askStoreAgainAtMs = 0;

  constructor(pool: Pool, questions: Questions, wallMs: () => number) {
    this.#questions = questions;
    this.#wallMs = wallMs;
    // Only the library's counters are used. Its own verdict knows neither the plan's limit nor a share that was cut.
    const options = { points: Number.MAX_SAFE_INTEGER, duration: (2 * minuteMs) / 1_000, keyPrefix: '' };
    this.#shared = new RateLimiterPostgres({
      ...options,
      storeClient: pool,
      storeType: 'pool',
      tableName: 'minute_use',
      tableCreated: true,
      clearExpiredByTimeout: true,
    });
    this.#alone = new RateLimiterMemory(options);
    questions.onAsked('minute', (key) => this.#giveBack(key));
  }

  async count(subject: MinuteSubject): Promise<MinuteStanding> {
    for (;;) {
      const share = this.#shareOf(subject);
      const isWithin = share.free > 0;
      if (isWithin || this.#wallMs() < share.emptyUntilMs) {
        if (isWithin) share.free -= 1;
        return { isWithin, limit: subject.limit, remaining: leftOf(share), endsAtMs: share.endsAtMs };
      }
      share.filling ??= this.#fill(share).finally(() => {
        share.filling = null;
      });
      await share.filling;
    }
  }

  /** The subject's share of this minute. What was taken of a past minute is worth nothing. */
  #shareOf(subject: MinuteSubject): Share {
    const { number: minute, endsAtMs } = minuteOf(this.#wallMs());
    const found = this.#shares.get(subject.key);
    if (found !== undefined && found.minute === minute) {
      found.subject = subject;
      return found;
    }
    const share: Share = { subject, minute, endsAtMs, free: 0, taken: 0, filling: null, emptyUntilMs: 0 };
    this.#shares.delete(subject.key);
    this.#shares.set(subject.key, share);
    // Maps keep insertion order: the first share has the oldest minute.
    if (this.#shares.size > maxSubjects) this.#shares.delete(this.#shares.keys().next().value as string);
    return share;
  }

  async #fill(share: Share): Promise<void> {
    const deadlineMs = this.#wallMs() + recallWaitMs;
    do {
      if (await this.#take(share)) return;
      if (this.#wallMs() < this.#askStoreAgainAtMs) break;
      await this.#questions.ask('minute', share.subject.key, askStepMs).catch(() => {});
    } while (this.#wallMs() < deadlineMs);
    share.emptyUntilMs = Math.min(share.endsAtMs, this.#wallMs() + emptyMs);
  }

  /** Returns false when nothing is left of the minute. */
  async #take(share: Share): Promise<boolean> {
    const { limit } = share.subject;
    const wanted = Math.max(1, Math.ceil((limit - share.taken) / shareOfLeft));
    const counterKey = counterKeyOf(share);
    const { counter, consumedPoints: after } = await this.#change((each) => each.penalty(counterKey, wanted));
    // The counter has what all processes took. What goes past the limit was never there and is put back.
    const granted = Math.min(wanted, Math.max(0, limit - (after - wanted)));
    share.taken = Math.min(after, limit);
    share.free += granted;
    if (granted < wanted) await counter.reward(counterKey, wanted - granted).catch(() => {});
    return granted > 0;
  }

  /** Changes the counter in PostgreSQL or, while that does not answer, one of this process. */
  async #change(change: (counter: Counter) => Promise<RateLimiterRes>): Promise<RateLimiterRes & { counter: Counter }> {
    if (this.#wallMs() >= this.#askStoreAgainAtMs) {
      try {
        return Object.assign(await within(storeTimeoutMs, change(this.#shared)), { counter: this.#shared });
      } catch {
        this.#askStoreAgainAtMs = this.#wallMs() + storeRestMs;
      }
    }
    return Object.assign(await change(this.#alone), { counter: this.#alone });
  }

  /** Another process is about to refuse this subject. */
  async #giveBack(key: string): Promise<boolean> {
    const share = this.#shares.get(key);
    if (share === undefined || share.minute !== minuteOf(this.#wallMs()).number || share.free === 0) return false;
    const given = share.free;
    share.free = 0;
    await within(storeTimeoutMs, this.#shared.reward(counterKeyOf(share), given));
    return true;
  }
}

function counterKeyOf({ subject, minute }: Share): string {
  return `${subject.key}@${minute}`;
}

function leftOf({ free, subject, taken }: Share): number {
  return free + Math.max(0, subject.limit - taken);
}

export interface Clock {
  /** Milliseconds since 1970: they determine the month and the minute. */
  wallMs(): number;
  /** Milliseconds of a clock that is never set back: they measure the age of a lease. */
  monotonicMs(): number;
}
export const systemClock: Clock = { wallMs: Date.now, monotonicMs: () => performance.now() };

/** A calendar month in Lima: quotas begin anew at its 00:00. */
export interface Month {
  /** YYYY-MM-01 */
  firstDay: string;
  startsAtMs: number;
  endsAtMs: number;
}

export function monthOf(nowMs: number): Month {
  const [year, month] = limaDay(new Date(nowMs)).split('-').map(Number) as [number, number];
  const firstDay = dayOne(year, month);
  const next = month === 12 ? dayOne(year + 1, 1) : dayOne(year, month + 1);
  return { firstDay, startsAtMs: startOfLimaDay(firstDay).getTime(), endsAtMs: startOfLimaDay(next).getTime() };
}

function dayOne(year: number, month: number): string {
  return `${year}-${String(month).padStart(2, '0')}-01`;
}

export const minuteMs = 60_000;

/** The clock minute, which is the same one for every process. */
export function minuteOf(nowMs: number): { number: number; endsAtMs: number } {
  const number = Math.floor(nowMs / minuteMs);
  return { number, endsAtMs: (number + 1) * minuteMs };
}

/** Whole seconds, rounded up, so that the moment has passed for a caller who waits them. At least 1. */
export function secondsUntil(atMs: number, nowMs: number): number {
  return Math.max(1, Math.ceil((atMs - nowMs) / 1_000));
}

/** Whose requests are counted together: an account, or an address that uses the sandbox token. */
export interface MinuteSubject {
  key: string;
  /** Requests per clock minute. */
  limit: number;
}

/** Requests per minute of one address with the sandbox token, or with a token that could not be looked up. */
const addressRequestsPerMinute = 60;

export function accountSubject({ accountId, requestsPerMinute }: Caller): MinuteSubject {
  return { key: `account:${accountId}`, limit: requestsPerMinute };
}

/** An IPv6 address counts as its network of 64 bits, because that is what one customer is given. */
export function addressSubject(ip: string): MinuteSubject {
  const address = ipaddr.isValid(ip) ? ipaddr.process(ip) : null;
  const counted =
    address instanceof ipaddr.IPv6 ? address.parts.slice(0, 4).join(':') : (address?.toString() ?? 'unknown');
  return { key: `address:${counted}`, limit: addressRequestsPerMinute };
}
