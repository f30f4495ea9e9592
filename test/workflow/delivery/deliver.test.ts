import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { Worker } from '@temporalio/worker';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { DeliveryActivities } from '../../../workflows/delivery/activities.ts';
import { defaultSchedule, nextDelayMs } from '../../../workflows/delivery/backoff.ts';
import type { RoundResult } from '../../../workflows/delivery/messages.ts';
import type { deliver } from '../../../workflows/delivery/workflow.ts';
import { startTimeSkippingServer, workflowBundle } from '../../support/engines/temporal.ts';

let environment: TestWorkflowEnvironment;

beforeAll(async () => {
  environment = await startTimeSkippingServer();
});
afterAll(() => environment?.teardown());

const round = (parts: Partial<RoundResult>): RoundResult => ({
  webhook: 'activo',
  nextInMs: null,
  rate: { emptyAtMs: 0 },
  delivered: 0,
  failed: 0,
  ...parts,
});

let runs = 0;
/**
 * Runs the workflow to its end with these rounds; `during` may send it signals. Fakes are typed by the real factory.
 */
async function run(
  deliverRound: DeliveryActivities['deliverRound'],
  during: (workflowId: string) => Promise<void> = async () => {},
): Promise<void> {
  runs += 1;
  const taskQueue = `delivery-${runs}`;
  const workflowId = `delivery/wh_${runs}`;
  const activities: DeliveryActivities = { deliverRound };
  const worker = await Worker.create({
    connection: environment.nativeConnection,
    taskQueue,
    workflowBundle: await workflowBundle(),
    activities,
  });
  await worker.runUntil(async () => {
    const handle = await environment.client.workflow.start<typeof deliver>('deliver', {
      taskQueue,
      workflowId,
      args: [{ webhookId: `wh_${runs}` }],
    });
    await during(workflowId);
    await handle.result();
  });
}

describe('a webhook whose receiver fails for ever', () => {
  it('is called ten times over 75 hours and then left alone', async () => {
    const at: number[] = [];
    await run(async () => {
      at.push(await environment.currentTimeMs());
      return round({ failed: 1, nextInMs: nextDelayMs(defaultSchedule, at.length, null, 0.5) });
    });
    expect(at).toHaveLength(10);
    const waits = at.slice(1).map((time, index) => Math.round((time - at[index]!) / 1_000));
    expect(waits.map((seconds, index) => Math.abs(seconds - defaultSchedule.delaysMs[index]! / 1_000) <= 10)).toEqual(
      Array(9).fill(true),
    );
    expect((at.at(-1)! - at[0]!) / 3_600_000).toBeCloseTo(75.58, 1);
  });
});

it('a wake-up ends the sleep at once', async () => {
  const rounds: number[] = [];
  await run(
    async () => {
      rounds.push(await environment.currentTimeMs());
      return round({ nextInMs: rounds.length === 1 ? 24 * 3_600_000 : null });
    },
    async (workflowId) => {
      while (rounds.length === 0) await new Promise((resolve) => setTimeout(resolve, 20));
      await environment.client.workflow.getHandle(workflowId).signal('wake');
    },
  );
  expect(rounds).toHaveLength(2);
  expect(rounds[1]! - rounds[0]!).toBeLessThan(3_600_000);
});

it('a wake-up during the last round is not lost: there is another round', async () => {
  let rounds = 0;
  let signalled = false;
  await run(
    async () => {
      rounds += 1;
      while (!signalled) await new Promise((resolve) => setTimeout(resolve, 10));
      return round({});
    },
    async (workflowId) => {
      while (rounds === 0) await new Promise((resolve) => setTimeout(resolve, 10));
      await environment.client.workflow.getHandle(workflowId).signal('wake');
      signalled = true;
    },
  );
  expect(rounds).toBe(2);
});

it.each(['pausado', 'eliminado'] as const)('it ends when the webhook is %s', async (webhook) => {
  let rounds = 0;
  await run(async () => {
    rounds += 1;
    return round({ webhook });
  });
  expect(rounds).toBe(1);
});

it('a round that fails is tried again, however often PostgreSQL is away', async () => {
  let tries = 0;
  await run(async () => {
    tries += 1;
    if (tries < 20) throw new Error('connection refused');
    return round({ delivered: 1 });
  });
  expect(tries).toBe(20);
});

it('after 300 rounds it starts anew with the state of its rate limit, and loses no round', async () => {
  let rounds = 0;
  const rates = new Set<number | undefined>();
  await run(async ({ rate }) => {
    rounds += 1;
    rates.add(rate?.emptyAtMs);
    return round({ nextInMs: rounds < 650 ? 0 : null, rate: { emptyAtMs: rounds } });
  });
  expect(rounds).toBe(650);
  // Only the first round of the first run started without a state.
  expect(rates.size).toBe(650);
  expect(rates.has(undefined)).toBe(true);
});
