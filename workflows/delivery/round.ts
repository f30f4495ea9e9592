import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '../../deploy/runtime/log.ts';
import type { Pool } from '../../deploy/runtime/postgres.ts';
import { type Claim, type ClaimedDelivery, claimDeliveries, type WebhookTarget } from '../../pipelines/watch/claim.ts';
import { updateHealth } from '../../pipelines/watch/endpoint-health.ts';
import { type AttemptResult, recordResults } from '../../pipelines/watch/record.ts';
import { releaseWork } from '../../pipelines/watch/work.ts';
import { type AttemptDependencies, sendAttempt } from './attempt.ts';
import { type HealthRule, judge, type Outcome } from './health.ts';
import type { RoundResult } from './messages.ts';
import type { DeliveryMetrics } from './metrics.ts';
import { allowance, type RateState, spend, waitMs } from './rate.ts';

export interface RoundLimits {
  /** A round claims nothing more after this; with the exchange's limit on top it ends within 30 s. */
  claimWindowMs: number;
  /** Longer than the whole exchange, and time to record it. */
  deliveryLeaseMs: number;
  /** Longer than a round. */
  workLeaseMs: number;
  /** While attempts are under way, how often to look for more. */
  lookAgainMs: number;
}

export interface RoundDependencies {
  pool: Pool;
  attempt: AttemptDependencies;
  /** @throws when a secret does not open: then nothing is claimed and the round is tried again */
  openSecrets: (target: WebhookTarget) => readonly string[];
  rule: HealthRule;
  limits: RoundLimits;
  log: Logger;
  metrics: DeliveryMetrics;
}

/**
 * Sends what a webhook has due, up to the limits of its rate and of what may be in flight, until nothing can start now or
 * the time is up. Results are recorded as they come, several in one transaction when they come together.
 */
export class Round {
  readonly #dependencies: RoundDependencies;
  readonly #webhookId: string;
  readonly #stop: AbortSignal;
  readonly #endsAt: number;
  readonly #inFlight = new Set<Promise<void>>();
  readonly #finished: AttemptResult[] = [];
  #outcomes: Outcome[] = [];
  #rate: RateState;
  #delivered = 0;
  #failed = 0;
  #perSecond = 1;
  /** How many the last claim asked for. Only a claim that asked for some and got none says that nothing can start. */
  #asked = 0;

  constructor(dependencies: RoundDependencies, webhookId: string, rate: RateState, stop: AbortSignal) {
    this.#dependencies = dependencies;
    this.#webhookId = webhookId;
    this.#rate = rate;
    this.#stop = stop;
    this.#endsAt = Date.now() + dependencies.limits.claimWindowMs;
  }

  async run(): Promise<RoundResult> {
    for (;;) {
      try {
        const result = await this.#step();
        if (result !== null) return result;
      } catch (error) {
        await this.#surviveOrThrow(error);
      }
    }
  }

  async #step(): Promise<RoundResult | null> {
    await this.#recordFinished();
    const ended = this.#stop.aborted || Date.now() >= this.#endsAt;
    const claim = await this.#claim(ended);
    // An attempt may have ended while the claim was asked: its result comes first, or it would be lost with the round.
    if (this.#finished.length > 0) return null;
    if (this.#inFlight.size > 0) {
      await this.#waitForOne();
      return null;
    }
    if (this.#outcomes.length === 0) return this.#tryToEnd(claim, ended);
    // May pause the webhook: the next claim sees it.
    await this.#settleHealth();
    return null;
  }

  /**
   * PostgreSQL did not answer. While results wait to be written, a short absence should not make their receivers get them
   * twice: tried again until the leases under which they were sent run out.
   */
  async #surviveOrThrow(error: unknown): Promise<void> {
    const { limits, log } = this.#dependencies;
    const holdsResults = this.#inFlight.size > 0 || this.#finished.length > 0;
    if (!holdsResults || Date.now() >= this.#endsAt + limits.deliveryLeaseMs) throw error;
    log.warn({ webhook: this.#webhookId, err: error }, 'a round waits for PostgreSQL');
    await sleep(limits.lookAgainMs);
  }

  async #claim(ended: boolean): Promise<Claim> {
    const { pool, limits, openSecrets } = this.#dependencies;
    let secrets: readonly string[] = [];
    this.#asked = 0;
    const claim = await claimDeliveries(pool, this.#webhookId, limits, (target) => {
      secrets = openSecrets(target);
      this.#perSecond = target.rateLimit;
      if (ended) return 0;
      const free = target.inFlightLimit - this.#inFlight.size;
      this.#asked = Math.max(0, Math.min(free, allowance(this.#rate, Date.now(), target.rateLimit)));
      return this.#asked;
    });
    this.#rate = spend(this.#rate, Date.now(), this.#perSecond, claim.deliveries.length);
    // Dying from here on: the attempts stand as "outcome unknown", and are due again when their leases end.
    for (const delivery of claim.deliveries) this.#start(claim.target!, secrets, delivery);
    return claim;
  }

  #start(target: WebhookTarget, secrets: readonly string[], delivery: ClaimedDelivery): void {
    const sending = sendAttempt(this.#dependencies.attempt, target, secrets, delivery).then((result) => {
      this.#finished.push(result);
      this.#inFlight.delete(sending);
      this.#report(delivery, result);
    });
    this.#inFlight.add(sending);
  }

  #report(delivery: ClaimedDelivery, result: AttemptResult): void {
    const { log, metrics } = this.#dependencies;
    metrics.attempts.inc({ result: result.failure ?? 'entregada' });
    metrics.seconds.observe(result.durationMs / 1_000);
    log.info(
      {
        webhook: this.#webhookId,
        delivery: delivery.id,
        event: delivery.event,
        attempt: delivery.attempt,
        status: result.httpStatus,
        failure: result.failure,
        durationMs: result.durationMs,
        retryInMs: result.retryInMs,
      },
      result.success ? 'notice delivered' : 'notice not delivered',
    );
  }

  async #recordFinished(): Promise<void> {
    const results = this.#finished.splice(0);
    if (results.length === 0) return;
    try {
      await recordResults(this.#dependencies.pool, this.#webhookId, results);
    } catch (error) {
      this.#finished.unshift(...results);
      throw error;
    }
    const at = new Date();
    for (const { success, httpStatus } of results) {
      this.#outcomes.push({ success, status: httpStatus, at });
      if (success) this.#delivered += 1;
      else this.#failed += 1;
    }
    // At once, while others may still be under way: nothing more may start.
    if (results.some(({ httpStatus }) => httpStatus === 410)) await this.#settleHealth();
  }

  /** Dying before this line forgets the round's failures in a row; they are counted again by the next failures. */
  async #settleHealth(): Promise<void> {
    const { pool, rule, log, metrics } = this.#dependencies;
    const outcomes = this.#outcomes;
    this.#outcomes = [];
    const lastSuccess = outcomes.findLast(({ success }) => success)?.at ?? null;
    const paused = await updateHealth(pool, this.#webhookId, lastSuccess, (health) => judge(health, outcomes, rule));
    if (paused === null) return;
    metrics.paused.inc({ cause: paused });
    log.warn({ webhook: this.#webhookId, cause: paused }, 'webhook paused');
  }

  /** Ends the round, or waits for what keeps it from ending: a slot of the rate limit, or work that was just added. */
  async #tryToEnd(claim: Claim, ended: boolean): Promise<RoundResult | null> {
    const result = (webhook: RoundResult['webhook'], nextInMs: number | null): RoundResult => ({
      webhook,
      nextInMs,
      rate: this.#rate,
      delivered: this.#delivered,
      failed: this.#failed,
    });
    if (claim.target?.estado === 'activo') {
      // There may be more: the lease stays, and the workflow starts the next round at once.
      if (ended) return result('activo', 0);
      if (this.#asked === 0) {
        const wait = Math.max(1, waitMs(this.#rate, Date.now(), this.#perSecond));
        await sleep(wait, undefined, { signal: this.#stop }).catch(() => {});
        return null;
      }
    }
    const released = await releaseWork(this.#dependencies.pool, this.#webhookId, claim);
    if (!released) return null;
    if (claim.target === null) return result('eliminado', null);
    return result(claim.target.estado, claim.nextDueInMs);
  }

  /** Until an attempt ends, or it is time to look for work that came meanwhile or became possible. */
  async #waitForOne(): Promise<void> {
    const timer = new AbortController();
    const rest = sleep(this.#dependencies.limits.lookAgainMs, undefined, { signal: timer.signal }).catch(() => {});
    await Promise.race([...this.#inFlight, rest]);
    timer.abort();
  }
}
