import { randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { startRepeating, within } from '../../pipelines/runtime/lifecycle.ts';
import type { Logger } from '../../pipelines/runtime/log.ts';
import type { Notifications } from '../../pipelines/runtime/notifications.ts';
import type { Pool } from '../../pipelines/runtime/postgres.ts';
import { eventChannel } from '../../pipelines/watch/events.ts';
import { Notifier } from '../../workflows/delivery/in-flight.ts';
import { type Caller, planRanks } from '../accounts/callers.ts';
import { ApiProblem } from '../problems.ts';
import type { FeedLimits } from './feed.ts';
import { leaveSeat, renewSeats, type SeatStanding, takeSeat } from './seats.ts';

export interface StreamLimits extends FeedLimits {
  maxPerAccount: number;
  /** Largest number of streams that an account's sessions of the console have open. */
  maxInConsole: number;
  maxOpenMs: number;
  /**
   * `checkMs` is the pause between two checks of the open streams, and `checkTimeoutMs` the longest time of a check.
   * Their sum must be less than 5 s, because a revoked token must stop working within 5 s.
   */
  checkMs: number;
  checkTimeoutMs: number;
  /** How long the seats of a process that died stay taken. Each open stream of an account takes one seat. */
  leaseMs: number;
  /** How long a stream's connection may stay open after the stream has ended, for a client that reads slowly. */
  endMs: number;
}

export const defaultStreamLimits: StreamLimits = {
  pageRows: 200,
  commentMs: 15_000,
  retryMs: 1_000,
  maxPerAccount: 5,
  maxInConsole: 20,
  maxOpenMs: 3_600_000,
  checkMs: 2_000,
  checkTimeoutMs: 2_000,
  leaseMs: 15_000,
  endMs: 500,
};

/** An open stream. The signal aborts when the stream must end. The notifier wakes the feed when there may be events. */
export interface OpenStream {
  signal: AbortSignal;
  notifier: Notifier;
}

type StreamCaller = Pick<Caller, 'accountId' | 'tokenId' | 'sessionId'>;

interface Entry extends OpenStream {
  id: string;
  tokenId: string;
  sessionId: string | null;
  openedAt: number;
  /** The position of the account's last event at the latest check. */
  seenPosition: number;
  end(): void;
}

/** Opens, checks and ends the event streams of this process. */
export class EventStreams {
  readonly limits: StreamLimits;
  readonly #pool: Pool;
  readonly #notifications: Pick<Notifications, 'listen'>;
  readonly #log: Logger;
  readonly #open = new Map<string, Entry>();
  #stopChecking: () => Promise<void> = async () => {};
  #isStopped = false;

  constructor(
    pool: Pool,
    notifications: Pick<Notifications, 'listen'>,
    log: Logger,
    limits: StreamLimits = defaultStreamLimits,
  ) {
    this.#pool = pool;
    this.#notifications = notifications;
    this.#log = log;
    this.limits = limits;
  }

  start(): void {
    this.#stopChecking = startRepeating('event streams', this.limits.checkMs, this.#log, () => this.#check());
  }

  /** Ends all streams. The clients reconnect to another process with their Last-Event-ID. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#endAll();
    await this.#stopChecking();
  }

  /**
   * Opens a stream and takes one of its account's seats (seats.ts), until the response closes.
   * @throws ApiProblem demasiados_flujos when all seats are taken
   */
  async open({ accountId, tokenId, ...caller }: StreamCaller, response: ServerResponse): Promise<OpenStream> {
    const id = randomUUID();
    const sessionId = caller.sessionId ?? null;
    const { maxInConsole, maxPerAccount, leaseMs } = this.limits;
    const most = sessionId === null ? maxPerAccount : maxInConsole;
    const oldest = await takeSeat(this.#pool, { id, accountId, sessionId }, { maxPerAccount: most, leaseMs });
    if (oldest !== null) throw this.#tooMany(most, oldest);
    const stopped = new AbortController();
    const notifier = new Notifier();
    const unlisten = this.#notifications.listen(eventChannel, String(accountId), () => notifier.notify());
    const end = () => {
      stopped.abort();
      notifier.notify();
    };
    const entry: Entry = {
      id,
      tokenId,
      sessionId,
      openedAt: performance.now(),
      seenPosition: 0,
      signal: stopped.signal,
      notifier,
      end: () => {
        end();
        setTimeout(() => response.destroy(), this.limits.endMs).unref();
      },
    };
    const leave = () => {
      if (!this.#open.delete(id)) return;
      end();
      unlisten();
      leaveSeat(this.#pool, id).catch(() =>
        this.#log.debug('a seat was not given back; it becomes free when its lease ends'),
      );
    };
    this.#open.set(id, entry);
    response.once('close', leave);
    try {
      // The caller was identified with a state of the token that may be 5 s old. The token may have been revoked since.
      const [standing] = await this.#renew([entry]);
      if (standing?.isAllowed !== true) entry.end();
    } catch (error) {
      leave();
      throw error;
    }
    // During the waits above the client may have gone before `leave` listened for it, or stop() may have been called.
    if (response.destroyed) leave();
    if (this.#isStopped) entry.end();
    return entry;
  }

  /**
   * Ends streams that are too old or no longer allowed, and wakes every other stream whose account has new events. A
   * failed check ends all streams. Otherwise a revoked token could read on while PostgreSQL is down.
   */
  async #check(): Promise<void> {
    const entries = [...this.#open.values()];
    if (entries.length === 0) return;
    try {
      const standings = await this.#renew(entries);
      const known = new Map(standings.map((standing) => [standing.id, standing]));
      for (const entry of entries) {
        const standing = known.get(entry.id);
        const isOld = performance.now() - entry.openedAt >= this.limits.maxOpenMs;
        if (standing?.isAllowed !== true || isOld) entry.end();
        else if (standing.lastPosition > entry.seenPosition) {
          entry.seenPosition = standing.lastPosition;
          entry.notifier.notify();
        }
      }
    } catch (error) {
      this.#endAll();
      throw error;
    }
  }

  #renew(entries: readonly Entry[]): Promise<SeatStanding[]> {
    const rule = { leaseMs: this.limits.leaseMs, minRank: planRanks.crecimiento };
    return within(this.limits.checkTimeoutMs, renewSeats(this.#pool, entries, rule));
  }

  #endAll(): void {
    for (const entry of this.#open.values()) entry.end();
  }

  #tooMany(most: number, oldest: Date): ApiProblem {
    const { maxOpenMs } = this.limits;
    const seconds = Math.max(1, Math.ceil((oldest.getTime() + maxOpenMs - Date.now()) / 1_000));
    return new ApiProblem(
      'demasiados_flujos',
      `La cuenta admite hasta ${most} flujos abiertos y los tiene. Cierre uno, o espere a que termine el más antiguo.`,
      {},
      { 'Retry-After': String(seconds) },
    );
  }
}
