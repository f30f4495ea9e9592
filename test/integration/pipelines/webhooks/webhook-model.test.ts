import fc from 'fast-check';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { inTransaction } from '../../../../pipelines/runtime/postgres.ts';
import { makeWebhookSecret, sealSecret } from '../../../../pipelines/runtime/secrets.ts';
import { type ClaimedDelivery, claimDeliveries, holdAbandoned } from '../../../../pipelines/webhooks/claim.ts';
import { deleteWebhookIn, pauseWebhook, resumeWebhook } from '../../../../pipelines/webhooks/pauses.ts';
import { recordResults, updateHealth } from '../../../../pipelines/webhooks/results.ts';
import { rotateSecret } from '../../../../pipelines/webhooks/webhooks.ts';
import { judge } from '../../../../workflows/delivery/health.ts';
import {
  type ModelCommand,
  type ModelOutcome,
  modelRule,
  WebhookModel,
} from '../../../support/delivery/webhook-model.ts';
import { batchOf, change, keyRing, makeWatchHarness, row, type WatchHarness } from '../../../support/watch/harness.ts';

// Random sequences of everything that changes a webhook are compared with a small model. Hours pass by setting back the
// times that PostgreSQL's clock is compared with, and by the times given to outcomes.
const hourMs = 3_600_000;
const limits = { deliveryLeaseMs: modelRule.leaseHours * hourMs, workLeaseMs: hourMs };
const rule = {
  failures: modelRule.failures,
  firstFailureAgeMs: modelRule.firstFailureHours * hourMs,
  slowAfterTimeouts: 3,
};
const maxCommands = 30;
const rucs = Array.from({ length: maxCommands }, (_, index) => String(20_990_000_000 + index));
const detectedAt = new Date();

let harness: WatchHarness;
let edition = 0;
beforeAll(async () => {
  harness = await makeWatchHarness(inject('endpoints'));
});
afterAll(() => harness.close());

const outcome = fc.constantFrom<ModelOutcome>('accepted', 'accepted', 'failed', 'failed', 'failed', 'gone', 'unknown');
const round = fc.record({
  type: fc.constant('round' as const),
  // Mostly the endpoint is down, or hardly any sequence would get as far as a pause.
  outcomes: fc.oneof(
    { weight: 5, arbitrary: fc.constant<ModelOutcome[]>(['failed']) },
    { weight: 1, arbitrary: fc.array(outcome, { minLength: 1, maxLength: 3 }) },
  ),
  meanwhile: fc.oneof(
    { weight: 12, arbitrary: fc.constant('nothing' as const) },
    { weight: 1, arbitrary: fc.constantFrom('pause' as const, 'resume' as const, 'delete' as const) },
  ),
});
const command: fc.Arbitrary<ModelCommand> = fc.oneof(
  { weight: 12, arbitrary: fc.constant<ModelCommand>({ type: 'announce' }) },
  { weight: 24, arbitrary: round },
  { weight: 16, arbitrary: fc.record({ type: fc.constant('wait' as const), hours: fc.constantFrom(1, 7, 13) }) },
  { weight: 1, arbitrary: fc.constant<ModelCommand>({ type: 'pause' }) },
  { weight: 4, arbitrary: fc.constant<ModelCommand>({ type: 'resume' }) },
  {
    weight: 3,
    arbitrary: fc.record({ type: fc.constant('rotate' as const), graceHours: fc.constantFrom(0, 24, 168) }),
  },
  { weight: 1, arbitrary: fc.constant<ModelCommand>({ type: 'delete' }) },
);

/** One webhook of its own account, changed by the product's functions. */
class RealWebhook {
  readonly #account: number;
  readonly #id: string;
  #hours = 0;
  #announced = 0;

  constructor(account: number, id: string) {
    this.#account = account;
    this.#id = id;
  }

  async apply(command: ModelCommand): Promise<void> {
    switch (command.type) {
      case 'announce':
        return this.#announce();
      case 'round':
        return this.#round(command.outcomes, command.meanwhile);
      case 'pause':
        return void (await pauseWebhook(harness.pool, this.#id, 'cliente'));
      case 'resume':
        return void (await resumeWebhook(harness.pool, this.#id));
      case 'delete':
        return void (await inTransaction(harness.pool, (client) => deleteWebhookIn(client, this.#account, this.#id)));
      case 'rotate': {
        const sealed = sealSecret(keyRing, this.#id, makeWebhookSecret());
        return void (await rotateSecret(harness.pool, this.#account, this.#id, sealed, command.graceHours * 3_600));
      }
      case 'wait':
        return this.#wait(command.hours);
    }
  }

  async #announce(): Promise<void> {
    edition += 1;
    const ruc = rucs[this.#announced]!;
    this.#announced += 1;
    await harness.edition(edition, '2026-11-26', detectedAt);
    const after = row({ estado: 'BAJA DEFINITIVA' });
    await harness.handler()(batchOf([change(edition, ruc, detectedAt, { after })]));
  }

  /** Does what a worker's round does: claim, send, record, then the endpoint's health. */
  async #round(outcomes: readonly ModelOutcome[], meanwhile: 'nothing' | 'pause' | 'resume' | 'delete'): Promise<void> {
    const { deliveries, openSince, target } = await claimDeliveries(harness.pool, this.#id, limits, () => maxCommands);
    if (target?.estado === 'pausado' && openSince !== null) await holdAbandoned(harness.pool, this.#id, openSince);
    if (meanwhile !== 'nothing') await this.apply({ type: meanwhile });
    const known = deliveries
      .map((delivery, index) => ({ delivery, outcome: outcomes[index % outcomes.length]! }))
      .filter(({ outcome }) => outcome !== 'unknown');
    if (known.length === 0) return;
    await recordResults(
      harness.pool,
      this.#id,
      known.map(({ delivery, outcome }) => resultOf(delivery, outcome)),
    );
    const at = new Date(Date.now() + this.#hours * hourMs);
    const ended = known.map(({ outcome }) => ({
      success: outcome === 'accepted',
      timedOut: false,
      status: statusOf(outcome),
      at,
    }));
    await updateHealth(harness.pool, this.#id, ({ health }) => ({
      ...judge(health, ended, rule),
      lastSuccessAt: null,
    }));
  }

  async #wait(hours: number): Promise<void> {
    this.#hours += hours;
    const back = [this.#id, hours];
    await harness.pool.query(
      `UPDATE delivery SET next_due_at = next_due_at - make_interval(hours => $2) WHERE webhook_id = $1`,
      back,
    );
    await harness.pool.query(
      `UPDATE webhook_secret SET expires_at = expires_at - make_interval(hours => $2) WHERE webhook_id = $1`,
      back,
    );
  }

  async state() {
    const { pool } = harness;
    const webhook = await pool.query(
      'SELECT deleted_at IS NOT NULL AS deleted, pausado_por AS cause, fallos_consecutivos AS failures FROM webhook WHERE id = $1',
      [this.#id],
    );
    const deliveries = await pool.query(
      'SELECT estado, fallos_del_ciclo AS "failuresOfCycle" FROM delivery WHERE webhook_id = $1 ORDER BY position',
      [this.#id],
    );
    const notices = await pool.query<{ text: string }>(
      `SELECT concat_ws(' ', kind, detail->>'causa', detail->>'porcentaje') AS text FROM notice WHERE webhook_id = $1 ORDER BY id`,
      [this.#id],
    );
    const { target } = await claimDeliveries(pool, this.#id, limits, () => 0);
    return {
      ...webhook.rows[0],
      deliveries: deliveries.rows,
      notices: notices.rows.map(({ text }) => text),
      signs: target === null ? null : target.secrets.length,
    };
  }
}

function stateOf({ deleted, cause, failures, deliveries, notices, secrets }: WebhookModel) {
  return {
    deleted,
    cause,
    failures,
    deliveries: deliveries.map(({ estado, failuresOfCycle }) => ({ estado, failuresOfCycle })),
    notices,
    signs: deleted ? null : secrets.length,
  };
}

function resultOf(delivery: ClaimedDelivery, outcome: ModelOutcome) {
  const success = outcome === 'accepted';
  const isLast = delivery.failuresOfCycle + 1 >= modelRule.attempts;
  return {
    ...delivery,
    durationMs: 5,
    success,
    httpStatus: statusOf(outcome),
    failure: success ? null : 'estado_http',
    response: null,
    responseCut: false,
    retryInMs: success || isLast ? null : modelRule.retryHours * hourMs,
  };
}

function statusOf(outcome: ModelOutcome): number {
  return outcome === 'accepted' ? 204 : outcome === 'gone' ? 410 : 500;
}

it('failures, successes, pause, resume, delete, rotation and time lead where the rules say', async () => {
  const sequences = fc.array(command, { minLength: 20, maxLength: maxCommands });
  const property = fc.asyncProperty(sequences, async (commands) => {
    await harness.pool.query('UPDATE watch_list SET deleted_at = now() WHERE deleted_at IS NULL');
    const account = await harness.account();
    await harness.list(account, 'Proveedores', rucs);
    const { id } = await harness.webhook(account, 'https://example.com/', { inFlight: 50 });
    const real = new RealWebhook(account, id);
    const model = new WebhookModel();
    for (const [index, each] of commands.entries()) {
      await real.apply(each);
      model.apply(each);
      expect(await real.state(), `after command ${index + 1}, ${JSON.stringify(each)}`).toEqual(stateOf(model));
    }
  });
  await fc.assert(property, { numRuns: 12 });
});
