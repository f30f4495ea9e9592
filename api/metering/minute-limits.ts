import { randomUUID } from 'node:crypto';
import ipaddr from 'ipaddr.js';
import { RateLimiterMemory, RateLimiterPostgres, type RateLimiterRes } from 'rate-limiter-flexible';
import { within } from '../../pipelines/runtime/lifecycle.ts';
import type { Notifications } from '../../pipelines/runtime/notifications.ts';
import type { Pool } from '../../pipelines/runtime/postgres.ts';
import { limaDay, startOfLimaDay } from '../../schemas/lima-time.ts';
import type { Caller } from '../accounts/callers.ts';

export interface MinuteStanding {
  /** False when the minute's requests are used up. Then this request is not counted. */
  isWithin: boolean;
  limit: number;
  remaining: number;
  endsAtMs: number;
}

export interface MinuteLimits {
  /** Counts one request. It never rejects, because without PostgreSQL the process counts its own requests alone. */
  count(subject: MinuteSubject): Promise<MinuteStanding>;
}

/** A process takes an eighth of the minute's remaining requests at a time, so that other processes get some too. */
const shareOfLeft = 8;
/** Longest time that a request waits for PostgreSQL. */
const storeTimeoutMs = 500;
/** After a failure of PostgreSQL the process counts alone for this long and does not ask PostgreSQL. */
const storeRestMs = 2_000;
/**
 * Before a 429, this process asks the other processes to give back their unused requests. It repeats the question until
 * it gets some requests, or until this time is over.
 */
const recallWaitMs = 150;
/** Longest wait for the first answer of another process. */
const askStepMs = 50;
/**
 * For this long after a 429 the process refuses the subject's requests without asking PostgreSQL or other processes.
 */
const emptyMs = 1_000;
const maxSubjects = 100_000;

const askedChannel = 'metering_asked';
const answeredChannel = 'metering_answered';
export const minuteChannels = [askedChannel, answeredChannel] as const;
/**
 * The word before the subject's key in each notification. The release before this one also sends notifications with
 * other words, and this release ignores them.
 */
const topic = 'minute';

type Counter = Pick<RateLimiterPostgres, 'penalty' | 'reward'>;

interface Share {
  subject: MinuteSubject;
  minute: number;
  endsAtMs: number;
  /** Requests that this process has taken from the minute and not used yet. */
  free: number;
  /** Requests that all processes have taken from the minute, as far as this process knows. */
  taken: number;
  filling: Promise<void> | null;
  /** Time until which PostgreSQL is not asked again, because the minute had no requests left. */
  emptyUntilMs: number;
}

/**
 * Limits the requests per clock minute, which begins at the same time for all processes. Each process takes small
 * shares of the minute's requests from one counter in PostgreSQL, and counts in memory what it uses. So few requests
 * need a write, and all processes together stay within the limit. While PostgreSQL does not answer, each process counts
 * only its own requests. README.md explains which other designs were refused.
 */
export class SharedMinuteLimits implements MinuteLimits {
  readonly #shares = new Map<string, Share>();
  readonly #pool: Pool;
  readonly #notifications: Notifications;
  readonly #processId = randomUUID();
  readonly #wallMs: () => number;
  readonly #shared: RateLimiterPostgres;
  readonly #alone: RateLimiterMemory;
  #askStoreAgainAtMs = 0;

  /** @param notifications must listen to `minuteChannels` */
  constructor(pool: Pool, notifications: Notifications, wallMs: () => number = Date.now) {
    this.#pool = pool;
    this.#notifications = notifications;
    this.#wallMs = wallMs;
    // The library only counts: its own limit (`points`) is never reached. This class compares the count with the limit,
    // because the library does not know the plans. It also cannot grant only a part of the wanted requests.
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
    notifications.listenToAll(askedChannel, (payload) => {
      const [processId, about, key = ''] = payload.split(' ');
      // Another process asks for unused requests of this minute before it refuses a request. If they cannot be given
      // back, nothing more is done: that process waits only a short time.
      if (about === topic && processId !== this.#processId) this.#giveBack(key).catch(() => {});
    });
  }

  async count(subject: MinuteSubject): Promise<MinuteStanding> {
    for (;;) {
      const share = this.#shareOf(subject);
      const isWithin = share.free > 0;
      if (isWithin || this.#wallMs() < share.emptyUntilMs) {
        if (isWithin) share.free -= 1;
        const remaining = share.free + Math.max(0, subject.limit - share.taken);
        return { isWithin, limit: subject.limit, remaining, endsAtMs: share.endsAtMs };
      }
      share.filling ??= this.#fill(share).finally(() => {
        share.filling = null;
      });
      await share.filling;
    }
  }

  /** Returns the subject's share of this minute. A share of a past minute is dropped. */
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
    // A map keeps the order of insertion, so the first share is of the oldest minute.
    if (this.#shares.size > maxSubjects) this.#shares.delete(this.#shares.keys().next().value as string);
    return share;
  }

  async #fill(share: Share): Promise<void> {
    const deadlineMs = this.#wallMs() + recallWaitMs;
    do {
      if (await this.#take(share)) return;
      if (this.#wallMs() < this.#askStoreAgainAtMs) break;
      await this.#askOthers(share.subject.key).catch(() => {});
    } while (this.#wallMs() < deadlineMs);
    share.emptyUntilMs = Math.min(share.endsAtMs, this.#wallMs() + emptyMs);
  }

  /** Takes a share from the counter. Returns false when the minute has no requests left. */
  async #take(share: Share): Promise<boolean> {
    const { limit } = share.subject;
    const wanted = Math.max(1, Math.ceil((limit - share.taken) / shareOfLeft));
    const counterKey = counterKeyOf(share);
    const { counter, consumedPoints: after } = await this.#change((each) => each.penalty(counterKey, wanted));
    // The counter includes what this process just took. Requests over the limit are not granted and are put back.
    const granted = Math.min(wanted, Math.max(0, limit - (after - wanted)));
    share.taken = Math.min(after, limit);
    share.free += granted;
    if (granted < wanted) await counter.reward(counterKey, wanted - granted).catch(() => {});
    return granted > 0;
  }

  /** Changes the counter in PostgreSQL. While PostgreSQL does not answer, it changes a counter in memory instead. */
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

  /** Returns this process's unused requests to the counter, because another process is about to refuse the subject. */
  async #giveBack(key: string): Promise<void> {
    const share = this.#shares.get(key);
    if (share === undefined || share.minute !== minuteOf(this.#wallMs()).number || share.free === 0) return;
    const given = share.free;
    share.free = 0;
    await within(storeTimeoutMs, this.#shared.reward(counterKeyOf(share), given));
    await this.#notify(answeredChannel, `${topic} ${key}`);
  }

  /** Asks the other processes for unused requests. Resolves at the first answer, or after `askStepMs`. */
  async #askOthers(key: string): Promise<void> {
    const about = `${topic} ${key}`;
    let unlisten = () => {};
    let timer: NodeJS.Timeout | undefined;
    const answered = new Promise<void>((resolve) => {
      unlisten = this.#notifications.listen(answeredChannel, about, resolve);
      timer = setTimeout(resolve, askStepMs);
    });
    try {
      await this.#notify(askedChannel, `${this.#processId} ${about}`);
      await answered;
    } finally {
      clearTimeout(timer);
      unlisten();
    }
  }

  /** Sends a notification. It can be lost, so whoever waits for a notification does so only for a limited time. */
  async #notify(channel: string, payload: string): Promise<void> {
    await this.#pool.query({ name: 'metering-notify', text: 'SELECT pg_notify($1, $2)', values: [channel, payload] });
  }
}

function counterKeyOf({ subject, minute }: Share): string {
  return `${subject.key}@${minute}`;
}

export interface Clock {
  /** Milliseconds since 1970, from which the month and the minute are computed. */
  wallMs(): number;
  /** Milliseconds of a clock that is never set back. It measures how long something lasts. */
  monotonicMs(): number;
}
export const systemClock: Clock = { wallMs: Date.now, monotonicMs: () => performance.now() };

/** A calendar month in Lima. Quotas begin anew at 00:00 of its first day. */
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

/** Returns the number and the end of the clock minute. They are the same for every process. */
export function minuteOf(nowMs: number): { number: number; endsAtMs: number } {
  const number = Math.floor(nowMs / minuteMs);
  return { number, endsAtMs: (number + 1) * minuteMs };
}

/** Returns whole seconds, at least 1. They are rounded up, so that the moment has passed after a wait of this time. */
export function secondsUntil(atMs: number, nowMs: number): number {
  return Math.max(1, Math.ceil((atMs - nowMs) / 1_000));
}

/** The account or IP address whose requests are counted together. The address is used when no account is known. */
export interface MinuteSubject {
  key: string;
  /** Requests per clock minute. */
  limit: number;
}

/** Limit per minute and IP address for requests with the sandbox token, or with a token that could not be looked up. */
const addressRequestsPerMinute = 60;

export function accountSubject({ accountId, requestsPerMinute }: Caller): MinuteSubject {
  return { key: `account:${accountId}`, limit: requestsPerMinute };
}

/** An IPv6 address counts as its /64 network, because one customer usually gets a whole /64. */
export function addressSubject(ip: string): MinuteSubject {
  const address = ipaddr.isValid(ip) ? ipaddr.process(ip) : null;
  const counted =
    address instanceof ipaddr.IPv6 ? address.parts.slice(0, 4).join(':') : (address?.toString() ?? 'unknown');
  return { key: `address:${counted}`, limit: addressRequestsPerMinute };
}
