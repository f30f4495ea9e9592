import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '../../pipelines/runtime/log.ts';
import type { Notifications } from '../../pipelines/runtime/notifications.ts';
import type { Pool } from '../../pipelines/runtime/postgres.ts';
import { inSpan } from '../../pipelines/runtime/tracing/span.ts';
import {
  type Claim,
  type ClaimedDelivery,
  claimDeliveries,
  holdAbandoned,
  type WebhookTarget,
} from '../../pipelines/webhooks/claim.ts';
import { type HealthVerdict, recordResults, type Standing, updateHealth } from '../../pipelines/webhooks/results.ts';
import { releaseWork, workChannel } from '../../pipelines/webhooks/work.ts';
import { type AttemptDependencies, type SentAttempt, sendAttempt } from './attempt.ts';
import { type HealthRule, isSlow, judge, type Outcome } from './health.ts';
import { InFlightAttempts, Notifier } from './in-flight.ts';
import { allowance, type DeliverInput, type RateState, type RoundResult, spend, waitMs } from './messages.ts';
import { attemptSpan, type DeliveryMetrics, reportAttempt } from './metrics.ts';

export interface RoundLimits {
  /** A round claims nothing more after this; with the exchange's limit on top it ends within 30 s. */
  claimWindowMs: number;
  /** Longer than the whole exchange, and time to record it. */
  deliveryLeaseMs: number;
  /** Longer than a round. */
  workLeaseMs: number;
  /** While attempts are under way, how often to look for more even if nothing tells of it. */
  lookAgainMs: number;
  /** How long a round with nothing left stays for more: work that comes meanwhile leaves without asking Temporal. */
  lingerMs: number;
}

export interface RoundDependencies {
  pool: Pool;
  notifications: Pick<Notifications, 'listen'>;
  attempt: AttemptDependencies;
  /** @throws when a secret does not open: then nothing is claimed and the round is tried again */
  openSecrets: (target: WebhookTarget) => readonly string[];
  rule: HealthRule;
  limits: RoundLimits;
  log: Logger;
  metrics: DeliveryMetrics;
  /** Left out: none. */
}

/** An attempt that ended and is not judged yet. */
interface Ended extends Omit<Outcome, 'at'> {
  /** Where it went. */
  url: string;
  /** Of performance.now(): how long ago it was is known whatever becomes of the clock. */
  endedAtMs: number;
}

/** Rounds that an edition began together end one after another by this share: Temporal starts some hundred rounds a second. */
const windowSpread = 0.3;

/** What a round does when nothing of it is under way and no result waits. */
type Idle = 'ended' | 'moves' | 'waits for its rate' | 'lingers' | 'has nothing';

function isFinal(idle: Idle): boolean {
  return idle === 'ended' || idle === 'moves' || idle === 'has nothing';
}

/**
 * Sends what a webhook has due, up to the limits of its rate and of what may be in flight, until nothing can start now or
 * the time is up. Results are recorded as they come, several in one transaction when they come together.
 */
export class Round {
  readonly #dependencies: RoundDependencies;
  readonly #webhookId: string;
  readonly #slow: boolean;
  readonly #stop: AbortSignal;
  /** This and all times of the round are of performance.now(): the clock may be set meanwhile. Only the rate outlives it. */
  readonly #endsAt: number;
  readonly #notifier = new Notifier();
  readonly #inFlight = new InFlightAttempts(() => this.#notifier.notify());
  #ended: Ended[] = [];
  #rate: RateState;
  #delivered = 0;
  #failed = 0;
  #perSecond = 1;
  /** How many the last claim asked for. Only a claim that asked for some and got none says that nothing can start. */
  #asked = 0;
  /** The endpoint's rounds belong on the other queue: this one claims nothing. */
  #moves = false;
  #lingersUntil: number;
  /** The last claim, while it is sure that another would find nothing: everything was taken, and no news came since. */
  #seen: { claim: Claim; nextDueAtMs: number } | null = null;
  /** Hints so far: one that comes while a claim is asked forbids to trust that claim. */
  #news = 0;

  constructor(dependencies: RoundDependencies, input: DeliverInput, stop: AbortSignal) {
    this.#dependencies = dependencies;
    this.#webhookId = input.webhookId;
    this.#slow = input.slow ?? false;
    this.#rate = input.rate ?? { emptyAtMs: 0 };
    this.#stop = stop;
    this.#endsAt = performance.now() + dependencies.limits.claimWindowMs * (1 - Math.random() * windowSpread);
    this.#lingersUntil = performance.now() + dependencies.limits.lingerMs;
  }

  async run(): Promise<RoundResult> {
    const notify = () => this.#notifier.notify();
    const unlisten = this.#dependencies.notifications.listen(workChannel, this.#webhookId, () => {
      this.#news += 1;
      this.#seen = null;
      notify();
    });
    this.#stop.addEventListener('abort', notify);
    try {
      for (;;) {
        try {
          const result = await this.#step();
          if (result !== null) return result;
        } catch (error) {
          await this.#surviveOrThrow(error);
        }
      }
    } finally {
      this.#stop.removeEventListener('abort', notify);
      unlisten();
    }
  }

  async #step(): Promise<RoundResult | null> {
    // Before anything is read: what rings from here on was perhaps not seen.
    this.#notifier.reset();
    await this.#recordResults();
    const ended = this.#stop.aborted || performance.now() >= this.#endsAt;
    const known = ended ? null : this.#seen;
    const claim = known?.claim ?? (await this.#claim(ended));
    // An attempt may have ended while the claim was asked: its result comes first, or it would be lost with the round.
    if (this.#inFlight.hasResults) return null;
    if (this.#inFlight.running > 0) {
      await this.#wait(this.#dependencies.limits.lookAgainMs);
      return null;
    }
    const idle = this.#idle(claim, ended);
    if (isFinal(idle) && known !== null) {
      // The end is decided by how things stand now.
      this.#seen = null;
      return null;
    }
    const mustSettle = isFinal(idle) || this.#ended.some(({ success }) => !success);
    if (this.#ended.length === 0 || !mustSettle) return this.#endOrWait(idle, claim);
    // May pause the webhook: the next claim sees it.
    await this.#settleHealth();
    return null;
  }

  /** Until something rings, so long at most, or until something is due: then it looks again. */
  async #wait(ms: number): Promise<void> {
    const untilDueMs = this.#seen === null ? ms : this.#seen.nextDueAtMs - performance.now();
    if (!(await this.#notifier.wait(Math.max(0, Math.min(ms, untilDueMs))))) this.#seen = null;
  }

  /**
   * PostgreSQL did not answer. While results wait to be written or judged, a short absence should not make their receivers get
   * them twice, or a 410 be forgotten: tried again until the leases under which they were sent run out.
   */
  async #surviveOrThrow(error: unknown): Promise<void> {
    const { limits, log } = this.#dependencies;
    const holdsResults = this.#inFlight.running > 0 || this.#inFlight.hasResults || this.#ended.length > 0;
    if (!holdsResults || performance.now() >= this.#endsAt + limits.deliveryLeaseMs) throw error;
    log.warn({ webhook: this.#webhookId, err: error }, 'a round waits for PostgreSQL');
    await sleep(limits.lookAgainMs);
  }

  async #claim(ended: boolean): Promise<Claim> {
    const { pool, limits, openSecrets, rule } = this.#dependencies;
    let secrets: readonly string[] = [];
    this.#asked = 0;
    const newsBefore = this.#news;
    const claim = await claimDeliveries(pool, this.#webhookId, limits, (target) => {
      secrets = openSecrets(target);
      this.#perSecond = target.rateLimit;
      this.#moves = isSlow(target.timeoutsInARow, rule) !== this.#slow;
      if (ended || this.#moves) return 0;
      const free = target.inFlightLimit - this.#inFlight.running;
      this.#asked = Math.max(0, Math.min(free, allowance(this.#rate, Date.now(), target.rateLimit)));
      return this.#asked;
    });
    const nextDueAtMs = performance.now() + (claim.nextDueInMs ?? Number.POSITIVE_INFINITY);
    this.#seen = claim.tookAll && newsBefore === this.#news ? { claim, nextDueAtMs } : null;
    this.#rate = spend(this.#rate, Date.now(), this.#perSecond, claim.deliveries.length);
    if (claim.deliveries.length > 0) this.#lingersUntil = performance.now() + limits.lingerMs;
    // Dying from here on: the attempts stand as "outcome unknown", and are due again when their leases end.
    for (const delivery of claim.deliveries) this.#inFlight.add(this.#send(claim.target!, secrets, delivery));
    return claim;
  }

  #send(target: WebhookTarget, secrets: readonly string[], delivery: ClaimedDelivery): Promise<SentAttempt> {
    return inSpan('POST', attemptSpan(this.#webhookId, delivery), async (span) => {
      const result = await sendAttempt(this.#dependencies.attempt, target, secrets, delivery);
      return reportAttempt(this.#dependencies, this.#webhookId, delivery, result, span);
    });
  }

  async #recordResults(): Promise<void> {
    const { pool } = this.#dependencies;
    const results = await this.#inFlight.record((each) => recordResults(pool, this.#webhookId, each));
    const endedAtMs = performance.now();
    for (const { success, httpStatus: status, failure, isTest, url } of results) {
      if (!isTest) this.#ended.push({ success, status, timedOut: failure === 'tiempo_agotado', url, endedAtMs });
      if (success) this.#delivered += 1;
      else this.#failed += 1;
      // Its next try is due at a time that the last claim does not know.
      if (!success) this.#seen = null;
    }
    // At once, while others may still be under way: nothing more may start.
    if (this.#ended.some(({ status }) => status === 410)) await this.#settleHealth();
  }

  /** Dying before this line forgets the round's failures in a row; they are counted again by the next failures. */
  async #settleHealth(): Promise<void> {
    const { pool, log, metrics } = this.#dependencies;
    this.#seen = null;
    const paused = await updateHealth(pool, this.#webhookId, (standing) => this.#judge(standing));
    // Not before they stand: a 410 that PostgreSQL did not take would never pause.
    this.#ended = [];
    if (paused === null) return;
    metrics.paused.inc({ cause: paused });
    log.warn({ webhook: this.#webhookId, cause: paused }, 'webhook paused');
  }

  #judge({ health, url, now }: Standing): HealthVerdict {
    const nowMs = performance.now();
    const outcomes = this.#ended.map((ended) => ({
      ...ended,
      at: new Date(now.getTime() - (nowMs - ended.endedAtMs)),
    }));
    const ofThisUrl = outcomes.filter((outcome) => outcome.url === url);
    return {
      ...judge(health, ofThisUrl, this.#dependencies.rule),
      lastSuccessAt: outcomes.findLast(({ success }) => success)?.at ?? null,
    };
  }

  /** Ends the round, or waits for what keeps it from ending: a slot of the rate limit, or work that may still come. */
  async #endOrWait(idle: Idle, claim: Claim): Promise<RoundResult | null> {
    switch (idle) {
      case 'ended':
      case 'moves':
        // There may be more: the lease stays, and the workflow starts the next round at once.
        return this.#result('activo', 0);
      case 'waits for its rate':
        await this.#rest(Math.max(1, waitMs(this.#rate, Date.now(), this.#perSecond)));
        return null;
      case 'lingers':
        await this.#wait(this.#lingerMs());
        return null;
      case 'has nothing': {
        if (claim.target?.estado === 'pausado' && claim.openSince !== null) {
          await holdAbandoned(this.#dependencies.pool, this.#webhookId, claim.openSince);
        }
        if (!(await releaseWork(this.#dependencies.pool, this.#webhookId, claim))) return null;
        return this.#result(claim.target?.estado ?? 'eliminado', claim.nextDueInMs);
      }
    }
  }

  #idle(claim: Claim, ended: boolean): Idle {
    if (claim.target === null) return 'has nothing';
    if (ended) return 'ended';
    if (this.#moves) return 'moves';
    if (this.#asked === 0) return 'waits for its rate';
    // Its tests are sent by now, at its rate: the claim asked for them.
    if (claim.target.estado === 'pausado') return 'has nothing';
    return this.#lingerMs() > 0 ? 'lingers' : 'has nothing';
  }

  #lingerMs(): number {
    return Math.min(this.#lingersUntil, this.#endsAt) - performance.now();
  }

  #result(webhook: RoundResult['webhook'], nextInMs: number | null): RoundResult {
    return {
      webhook,
      nextInMs,
      rate: this.#rate,
      ...(this.#slow !== this.#moves ? { slow: true } : {}),
      delivered: this.#delivered,
      failed: this.#failed,
    };
  }

  /** A fixed time, shorter only when the worker stops: a ring does not fill the bucket. */
  async #rest(ms: number): Promise<void> {
    await sleep(ms, undefined, { signal: this.#stop }).catch(() => {});
  }
}
