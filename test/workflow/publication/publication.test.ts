import { ApplicationFailure } from '@temporalio/common';
import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { Worker } from '@temporalio/worker';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { PublicationActivities } from '../../../workflows/publication/activities.ts';
import type { ReconcileInput, RegisterInput } from '../../../workflows/publication/messages.ts';
import { startTimeSkippingServer, workflowBundle } from '../../support/engines/temporal.ts';
import { FakeSteps } from '../../support/publication/steps.ts';

const register = 'padron_reducido';
let environment: TestWorkflowEnvironment;
let worker: Worker;
let working: Promise<void>;
/** The running test's steps. One worker serves all tests, because starting one takes seconds. */
let current: PublicationActivities;
let runs = 0;
const taskQueue = 'publication';

function delegating(): PublicationActivities {
  const names = Object.keys(new FakeSteps().activities()) as (keyof PublicationActivities)[];
  const calls = names.map((name) => [
    name,
    (...args: unknown[]) => (current[name] as (...args: unknown[]) => Promise<unknown>)(...args),
  ]);
  return Object.fromEntries(calls) as PublicationActivities;
}

beforeAll(async () => {
  environment = await startTimeSkippingServer();
  worker = await Worker.create({
    connection: environment.nativeConnection,
    taskQueue,
    workflowBundle: await workflowBundle(),
    activities: delegating(),
  });
  working = worker.run();
});

afterAll(async () => {
  worker?.shutdown();
  await working;
  await environment?.teardown();
});

/** Runs a workflow to its end with these steps, skipping time. */
async function run<Result>(
  type: 'fetch' | 'publish' | 'reconcile',
  steps: FakeSteps,
  input: RegisterInput | ReconcileInput = { register },
): Promise<Result> {
  runs += 1;
  current = steps.activities();
  const workflowId = `${type}/${runs}`;
  return await environment.client.workflow.execute(type, { taskQueue, workflowId, args: [input] });
}

function rootMessage(error: unknown): string {
  let last = error as Error;
  while (last.cause instanceof Error) last = last.cause;
  return last.message;
}

describe('fetch', () => {
  it('probes, downloads and archives, then wakes publish', async () => {
    const steps = new FakeSteps();
    steps.probes = [{ outcome: 'new', publicationId: 7 }];
    steps.fetches = [{ outcome: 'archived', publicationId: 7 }];
    expect(await run('fetch', steps)).toEqual({ outcome: 'archived', publicationId: 7 });
    expect(steps.calls).toEqual(['probe', 'fetch 7', 'wake']);
  });

  it('downloads nothing when nothing is new, and wakes publish all the same', async () => {
    const steps = new FakeSteps();
    steps.probes = [{ outcome: 'nothing_new', publicationId: 6 }];
    expect(await run('fetch', steps)).toEqual({ outcome: 'nothing_new', publicationId: 6 });
    expect(steps.calls).toEqual(['probe', 'wake']);
  });

  it('asks a site that is down again, for hours', async () => {
    const down = () => ApplicationFailure.retryable('the site answered 503', 'source_unavailable');
    const steps = new FakeSteps();
    steps.probes = [...Array.from({ length: 30 }, down), { outcome: 'new', publicationId: 1 }];
    steps.fetches = [down(), down(), { outcome: 'known', publicationId: 1 }];
    const before = await environment.currentTimeMs();
    expect(await run('fetch', steps)).toEqual({ outcome: 'nothing_new', publicationId: 1 });
    expect((await environment.currentTimeMs()) - before).toBeGreaterThan(3 * 3600 * 1000);
  });

  it('gives up at once when trying again is useless', async () => {
    const steps = new FakeSteps();
    steps.probes = [ApplicationFailure.nonRetryable('the site gave no answer: scheme', 'source_refused')];
    const failure = await run('fetch', steps).catch((error) => error);
    expect(rootMessage(failure)).toBe('the site gave no answer: scheme');
    expect(steps.calls).toEqual(['probe']);
  });

  it('says that a publication went to quarantine', async () => {
    const steps = new FakeSteps();
    steps.probes = [{ outcome: 'new', publicationId: 3 }];
    steps.fetches = [{ outcome: 'quarantined', publicationId: 3 }];
    expect(await run('fetch', steps)).toEqual({ outcome: 'quarantined', publicationId: 3 });
  });
});

describe('publish', () => {
  it('takes publications one after another, each all the way before the next', async () => {
    const steps = new FakeSteps();
    steps.waiting.push({ id: 4, endsAt: null }, { id: 5, endsAt: null });
    expect(await run('publish', steps)).toEqual({ publications: 2, editions: 2 });
    expect(steps.calls).toEqual([
      ...['verify 4', 'compare 4', 'judge 4', 'freeze 4', 'publish 1', 'materialised 1', 'notified 1'],
      ...['verify 5', 'compare 5', 'judge 5', 'freeze 5', 'publish 2', 'materialised 2', 'notified 2'],
    ]);
  });

  it.each(['verify', 'compare', 'judge'] as const)('goes on with the next one when one ends at %s', async (endsAt) => {
    const steps = new FakeSteps();
    steps.waiting.push({ id: 4, endsAt }, { id: 5, endsAt: null });
    await run('publish', steps);
    expect(steps.calls).not.toContain('freeze 4');
    expect(steps.calls.slice(-6)).toEqual([
      ...['compare 5', 'judge 5', 'freeze 5', 'publish 1', 'materialised 1', 'notified 1'],
    ]);
  });

  it('compares again when the head moved meanwhile', async () => {
    const steps = new FakeSteps();
    steps.waiting.push({ id: 4, endsAt: null, freezes: ['head_moved', 'head_not_materialised'] });
    await run('publish', steps);
    expect(steps.calls.filter((call) => call === 'compare 4')).toHaveLength(3);
    expect(steps.calls.slice(-3)).toEqual(['publish 1', 'materialised 1', 'notified 1']);
  });

  it('undoes an edition on order before it takes a publication, and compares again when the head moved', async () => {
    const steps = new FakeSteps();
    steps.corrections.push({ id: 2, endsAt: 'compare' }, { id: 3, endsAt: null, freezes: ['head_moved'] });
    steps.waiting.push({ id: 9, endsAt: 'verify' });
    await run('publish', steps);
    expect(steps.calls).toEqual([
      ...['compare correction 2', 'compare correction 3', 'freeze correction 3'],
      ...['compare correction 3', 'freeze correction 3', 'publish 1', 'materialised 1', 'notified 1', 'verify 9'],
    ]);
  });

  it('takes up an edition that is on its way, and what Kafka lost, before anything else', async () => {
    const steps = new FakeSteps();
    steps.head = 3;
    steps.lost = [2, 3];
    steps.unfinished = [{ edition: 3, notMaterialised: 0, notNotified: 0 }];
    steps.waiting.push({ id: 9, endsAt: null });
    await run('publish', steps);
    expect(steps.calls.slice(0, 6)).toEqual([
      ...['publish 2 again', 'publish 3 again', 'publish 3', 'materialised 3', 'notified 3', 'verify 9'],
    ]);
  });

  it('waits as long as it takes, starting anew before its history grows, and never passes a waiting edition', async () => {
    const steps = new FakeSteps();
    steps.waitsPerEdition = { notMaterialised: 130, notNotified: 3 };
    steps.waiting.push({ id: 4, endsAt: null }, { id: 5, endsAt: 'verify' });
    await run('publish', steps);
    expect(steps.calls.filter((call) => call === 'materialised 1').length).toBeGreaterThan(130);
    expect(steps.calls.indexOf('verify 5')).toBe(steps.calls.length - 1);
    expect(steps.calls.filter((call) => call === 'freeze 4')).toHaveLength(1);
  });

  it('runs a failed step again and nothing before it', async () => {
    const steps = new FakeSteps();
    steps.waiting.push({ id: 4, endsAt: null });
    for (const call of ['verify 4', 'compare 4', 'judge 4', 'freeze 4', 'publish 1']) steps.failures.set(call, 12);
    await run('publish', steps);
    for (const call of ['verify 4', 'compare 4', 'judge 4', 'freeze 4', 'publish 1']) {
      expect(steps.calls.filter((each) => each === call)).toHaveLength(13);
    }
    expect(steps.calls.indexOf('compare 4')).toBe(13);
  });

  it('ends when nothing is open', async () => {
    expect(await run('publish', new FakeSteps())).toEqual({ publications: 0, editions: 0 });
  });

  it('looks again when it is woken while it was about to end', async () => {
    const steps = new FakeSteps();
    let looks = 0;
    steps.onNextWork = async () => {
      looks += 1;
      if (looks === 1) await environment.client.workflow.getHandle(`publish/${runs}`).signal('archived');
      // The first look does not see the new publication yet.
      if (looks === 2) steps.waiting.push({ id: 8, endsAt: 'verify' });
    };
    await run('publish', steps);
    expect(looks).toBeGreaterThanOrEqual(2);
    expect(steps.calls).toEqual(['verify 8']);
  });
});

describe('reconcile', () => {
  it('checks one register after another, and one that cannot be checked does not keep the others from it', async () => {
    const steps = new FakeSteps();
    const down = ApplicationFailure.nonRetryable('a change file is gone', 'not_found');
    steps.checks = [{ outcome: 'equal' }, down, { outcome: 'different' }, { outcome: 'skipped' }];
    const registers = ['padron_reducido', 'padron_mensual', 'agentes_retencion', 'sancionados'] as const;
    const result = await run('reconcile', steps, { registers });
    expect(result).toEqual({ equal: 1, different: 1, skipped: 1, failed: 1 });
    expect(steps.calls).toEqual(registers.map((each) => `check ${each}`));
  });
});
