import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '../../pipelines/runtime/log.ts';
import type { Notifications } from '../../pipelines/runtime/notifications.ts';
import { passingOf } from '../../pipelines/runtime/passing-errors.ts';
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
import { type HealthRule, isSlow, judge } from './health.ts';
import { type Ended, InFlightAttempts, Notifier } from './in-flight.ts';
import { allowance, type DeliverInput, type RateState, type RoundResult, spend, waitMs } from './messages.ts';
import { attemptSpan, type DeliveryMetrics, reportAttempt } from './metrics.ts';

export interface RoundLimits {
  /** Then a round stops claiming. Requests have time limits, so a round ends within 30 s if PostgreSQL answers. */
  claimWindowMs: number;
  /** How long a claimed delivery is leased. It must be longer than a whole exchange and the recording of its result. */
  deliveryLeaseMs: number;
  /** How long a webhook is leased to a round. It must be longer than a round. */
  workLeaseMs: number;
  /** How often a round claims again while attempts are in flight, if no notification comes. */
  lookAgainMs: number;
  /** How long a round without work stays open, so that new deliveries are sent without a call to Temporal. */
  lingerMs: number;
}

export interface RoundDependencies {
  pool: Pool;
  notifications: Pick<Notifications, 'listen'>;
  attempt: AttemptDependencies;
  /** @throws if a secret cannot be decrypted. Nothing is claimed then, and the round is tried again. */
  openSecrets: (target: WebhookTarget) => readonly string[];
  rule: HealthRule;
  limits: RoundLimits;
  log: Logger;
  metrics: DeliveryMetrics;
}

/**
 * A round claims deliveries for `claimWindowMs`, shortened by a random share up to this one. Otherwise many rounds
 * would end together, and Temporal starts only some hundred rounds a second.
 */
const windowSpread = 0.3;

/**
 * What a round does next when nothing is in flight and all results are recorded. `ended` (time over or worker stops),
 * `moves` (to the queue for slow endpoints or back) and `has nothing` end the round. The other two wait.
 */
type Idle = 'ended' | 'moves' | 'waits for its rate' | 'lingers' | 'has nothing';

function isFinal(idle: Idle): boolean {
  return idle === 'ended' || idle === 'moves' || idle === 'has nothing';
}

/**
 * Sends the due deliveries of a webhook within its limits (requests per second and in flight). A round ends when
 * nothing more can start or its time is over. Results that arrive together are recorded in one transaction. Times are
 * by performance.now(), because somebody may set the clock. Only the rate limit is by the clock, because the next round
 * may continue the rate limit in another process.
 */
export class Round {
  readonly #dependencies: RoundDependencies;
  readonly #webhookId: string;
  readonly #slow: boolean;
  readonly #stop: AbortSignal;
  readonly #endsAt: number;
  readonly #notifier = new Notifier();
  readonly #inFlight = new InFlightAttempts(() => this.#notifier.notify());
  #ended: Ended[] = [];
  #rate: RateState;
  #delivered = 0;
  #failed = 0;
  #perSecond = 1;
  /** Number of deliveries that the last claim asked for. If it is 0, an empty claim does not mean "nothing to do". */
  #asked = 0;
  /** True if the webhook's rounds now belong on the other queue (ordinary or slow). This round then claims nothing. */
  #moves = false;
  #lingersUntil: number;
  /** The last claim, if it took all due deliveries and no notification came. Until `nextDueAtMs` a claim gets none. */
  #seen: { claim: Claim; nextDueAtMs: number } | null = null;
  /** Number of notifications so far. If one arrives during a claim, the claim may have missed a new delivery. */
  #notifications = 0;
  /** Whether the log has the present outage of PostgreSQL. */
  #isAway = false;

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
      this.#notifications += 1;
      this.#seen = null;
      notify();
    });
    this.#stop.addEventListener('abort', notify);
    try {
      for (;;) {
        try {
          const result = await this.#step();
          this.#isAway = false;
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
    // The reset comes before this step reads PostgreSQL. The reads may miss what a later notification announces, so
    // the notification must not be forgotten.
    this.#notifier.reset();
    await this.#recordResults();
    const ended = this.#stop.aborted || performance.now() >= this.#endsAt;
    const known = ended ? null : this.#seen;
    const claim = known?.claim ?? (await this.#claim(ended));
    // An attempt may have ended during the claim. Its result is recorded first, because the round may end below.
    if (this.#inFlight.hasResults) return null;
    if (this.#inFlight.running > 0) {
      await this.#wait(this.#dependencies.limits.lookAgainMs);
      return null;
    }
    const idle = this.#idle(claim, ended);
    if (isFinal(idle) && known !== null) {
      // `known` is an older claim, and deliveries may have become due since. So the round claims again before it ends.
      this.#seen = null;
      return null;
    }
    const mustSettle = isFinal(idle) || this.#ended.some(({ success }) => !success);
    if (this.#ended.length === 0 || !mustSettle) return this.#endOrWait(idle, claim);
    // This counts the ended attempts and may pause the webhook. The next claim then sees the pause.
    await this.#settleHealth();
    return null;
  }

  /** Waits for a notification, a due delivery or `ms`. Without a notification, it forgets the last claim (`#seen`). */
  async #wait(ms: number): Promise<void> {
    const untilDueMs = this.#seen === null ? ms : this.#seen.nextDueAtMs - performance.now();
    if (!(await this.#notifier.wait(Math.max(0, Math.min(ms, untilDueMs))))) this.#seen = null;
  }

  /**
   * Handles an error of PostgreSQL. While attempts run or results are not stored, the round tries again until its
   * deliveries' leases end. Otherwise a short outage would lose results: receivers would get deliveries twice, and a
   * webhook that answered 410 (gone) would not be paused. A round without results also waits while PostgreSQL is away:
   * it goes on within a second, and Temporal's next try may be half a minute away. In all other cases it throws.
   */
  async #surviveOrThrow(error: unknown): Promise<void> {
    const { limits, log } = this.#dependencies;
    const holdsResults = this.#inFlight.running > 0 || this.#inFlight.hasResults || this.#ended.length > 0;
    const mayWait = holdsResults || (passingOf(error) === 'away' && !this.#stop.aborted);
    if (!mayWait || performance.now() >= this.#endsAt + limits.deliveryLeaseMs) throw error;
    if (!this.#isAway) log.warn({ webhook: this.#webhookId, err: error }, 'a round waits for PostgreSQL');
    this.#isAway = true;
    await sleep(limits.lookAgainMs);
  }

  async #claim(ended: boolean): Promise<Claim> {
    const { pool, limits, openSecrets, rule } = this.#dependencies;
    let secrets: readonly string[] = [];
    this.#asked = 0;
    const notificationsBefore = this.#notifications;
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
    this.#seen = claim.tookAll && notificationsBefore === this.#notifications ? { claim, nextDueAtMs } : null;
    this.#rate = spend(this.#rate, Date.now(), this.#perSecond, claim.deliveries.length);
    if (claim.deliveries.length > 0) this.#lingersUntil = performance.now() + limits.lingerMs;
    // The claim has stored each attempt with the result `resultado_desconocido`. If the process dies before an
    // attempt's own result is recorded, the attempt keeps this result. Its delivery is due again when the lease ends.
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
      // The last claim is outdated: it does not know when the next attempt of this delivery is due.
      if (!success) this.#seen = null;
    }
    // A 410 pauses the webhook at once, even while other attempts are in flight, so that no new attempt starts.
    if (this.#ended.some(({ status }) => status === 410)) await this.#settleHealth();
  }

  /** Adds ended attempts to the webhook's health. If the process dies before this, these attempts never count. */
  async #settleHealth(): Promise<void> {
    const { pool, log, metrics } = this.#dependencies;
    this.#seen = null;
    const paused = await updateHealth(pool, this.#webhookId, (standing) => this.#judge(standing));
    // Forget the outcomes only after they are stored. Otherwise a 410 could be lost and would never pause the webhook.
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

  /** Returns the result of a round that ends. Else waits, unless work was added just now, and returns null. */
  async #endOrWait(idle: Idle, claim: Claim): Promise<RoundResult | null> {
    switch (idle) {
      case 'ended':
      case 'moves':
        // There may be more work, so the webhook stays leased, and the workflow starts the next round at once.
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
    // A claim of a paused webhook takes only test deliveries. The last claim took all of them, so all have been sent.
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

  /** Waits `ms` unless the worker stops. Notifications do not end this wait: a new delivery does not raise the rate. */
  async #rest(ms: number): Promise<void> {
    await sleep(ms, undefined, { signal: this.#stop }).catch(() => {});
  }
}
