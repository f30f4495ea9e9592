import ipaddr from 'ipaddr.js';
import { RateLimiterMemory, RateLimiterPostgres, type RateLimiterRes } from 'rate-limiter-flexible';
import type { Pool } from '../../pipelines/runtime/postgres.ts';
import { limaDay, startOfLimaDay } from '../../schemas/lima-time.ts';
import type { Caller } from '../accounts/callers.ts';
import { within } from '../problems.ts';
import type { Questions } from './questions.ts';

export interface MinuteStanding {
  /** false: the minute's requests are used up; this one is not counted. */
  isWithin: boolean;
  limit: number;
  remaining: number;
  endsAtMs: number;
}

export interface MinuteLimits {
  /** Counts one request. Fails never: without PostgreSQL the process counts alone. */
  count(subject: MinuteSubject): Promise<MinuteStanding>;
}

/** Requests that one process takes from the minute at a time: this share of what was left, so that the others find some. */
const shareOfLeft = 8;
/** PostgreSQL is not waited for longer than this, and not asked again for a while: the process then counts alone. */
const storeTimeoutMs = 500;
const storeRestMs = 2_000;
/** Before a 429 the others are asked for what they hold. */
const recallWaitMs = 150;
const askStepMs = 50;
/** Once nothing is left, the others' shares are asked for again after so long. */
const emptyMs = 1_000;
const maxSubjects = 100_000;

type Counter = Pick<RateLimiterPostgres, 'penalty' | 'reward'>;

interface Share {
  subject: MinuteSubject;
  minute: number;
  endsAtMs: number;
  /** Taken from the minute and not used yet. */
  free: number;
  /** Taken by all processes, when last asked. */
  taken: number;
  filling: Promise<void> | null;
  /** Nothing was left: not asked again until then. */
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
    // The library's own verdict is not used, since the limit is the plan's and a share may be cut: only its counters are.
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

  /** The subject's share of this minute; a past minute's is worth nothing. */
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
    // Maps keep insertion order: the first is the one whose minute is oldest.
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

  /** false: nothing is left of the minute. */
  async #take(share: Share): Promise<boolean> {
    const { limit } = share.subject;
    const wanted = Math.max(1, Math.ceil((limit - share.taken) / shareOfLeft));
    const counterKey = counterKeyOf(share);
    const { counter, consumedPoints: after } = await this.#change((each) => each.penalty(counterKey, wanted));
    // The counter says what all have taken: of this share only what is within the limit is ours, the rest was never there.
    const granted = Math.min(wanted, Math.max(0, limit - (after - wanted)));
    share.taken = Math.min(after, limit);
    share.free += granted;
    if (granted < wanted) await counter.reward(counterKey, wanted - granted).catch(() => {});
    return granted > 0;
  }

  /** Without PostgreSQL the process counts alone, up to the whole limit. */
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
  /** Milliseconds since 1970: says which month it is. */
  wallMs(): number;
  /** Never set back: says how old a lease is. */
  monotonicMs(): number;
}
export const systemClock: Clock = { wallMs: Date.now, monotonicMs: () => performance.now() };

/** A calendar month in Lima: quotas begin anew at its 00:00. */
export interface Month {
  /** Its first day, YYYY-MM-01. */
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

/** Minutes begin with the clock's: the same ones for every process. */
export function minuteOf(nowMs: number): { number: number; endsAtMs: number } {
  const number = Math.floor(nowMs / minuteMs);
  return { number, endsAtMs: (number + 1) * minuteMs };
}

/** Whole seconds until then, rounded up: one who waits them finds it past. At least 1. */
export function secondsUntil(atMs: number, nowMs: number): number {
  return Math.max(1, Math.ceil((atMs - nowMs) / 1_000));
}

/** Whose requests are counted together: an account, or an address that uses the sandbox token. */
export interface MinuteSubject {
  key: string;
  /** Requests per clock minute. */
  limit: number;
}

/** Requests per minute of one address with the sandbox token, or with a token that cannot be looked up. */
const addressRequestsPerMinute = 60;

export function accountSubject({ accountId, requestsPerMinute }: Caller): MinuteSubject {
  return { key: `account:${accountId}`, limit: requestsPerMinute };
}

/** Of IPv6 the network of 64 bits, since that is what one customer is given. */
export function addressSubject(ip: string): MinuteSubject {
  const address = ipaddr.isValid(ip) ? ipaddr.process(ip) : null;
  const counted =
    address instanceof ipaddr.IPv6 ? address.parts.slice(0, 4).join(':') : (address?.toString() ?? 'unknown');
  return { key: `address:${counted}`, limit: addressRequestsPerMinute };
}
