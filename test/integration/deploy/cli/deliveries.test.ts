import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { makeTemporal } from '../../../../pipelines/runtime/temporal.ts';
import { pauseWebhook, resumeWebhook } from '../../../../pipelines/webhooks/pauses.ts';
import { cancelRecovery, startRecovering } from '../../../../pipelines/webhooks/recoveries.ts';
import { deliveryWorkflow } from '../../../../pipelines/webhooks/work.ts';
import { freshNamespace } from '../../../support/engines/isolation.ts';
import { padronDocument, runCommand } from '../../../support/process/command.ts';
import {
  batchOf,
  change,
  makeWatchHarness,
  row,
  silentLog,
  type WatchHarness,
} from '../../../support/watch/harness.ts';

const rucs = ['20990000019', '20990000027', '20990000035'] as const;
let harness: WatchHarness;
let webhook: string;
let account: number;
let deliveries: string[];

beforeAll(async () => {
  harness = await makeWatchHarness(inject('endpoints'));
  account = await harness.account();
  await harness.list(account, 'Proveedores', rucs);
  webhook = (await harness.webhook(account, 'https://example.com/clave-secreta')).id;
  const detectedAt = new Date();
  await harness.edition(1, '2026-11-26', detectedAt);
  const after = row({ estado: 'BAJA DEFINITIVA' });
  await harness.handler()(batchOf(rucs.map((ruc) => change(1, ruc, detectedAt, { after }))));
  const { rows } = await harness.pool.query<{ id: string }>('SELECT id FROM delivery ORDER BY position');
  deliveries = rows.map(({ id }) => id);
});
afterAll(() => harness.close());

const environment = () => ({ DATABASE_URL: harness.databaseUrl });
const document = <Answer>(...words: string[]) =>
  padronDocument<Answer>(['deliveries', ...words], environment(), runCommand);
const padron = (...words: string[]) => runCommand(['deliveries', ...words], environment());
const stateOf = async (id: string) =>
  (await harness.pool.query('SELECT estado FROM delivery WHERE id = $1', [id])).rows[0].estado;

test('backlog: what is due, and what is held while its webhook is paused', async () => {
  const due = await document<{ webhooks: unknown[] }>('backlog');
  expect(due).toMatchObject({ due: 3, waiting: 0, inFlight: 0, held: 0, webhooksPaused: 0 });
  expect(due.webhooks).toMatchObject([{ webhookId: webhook, accountId: account, estado: 'activo', due: 3, held: 0 }]);
  await pauseWebhook(harness.pool, webhook, 'cliente');
  expect(await document('backlog')).toMatchObject({ due: 0, held: 3, oldestDueSeconds: null, webhooksPaused: 1 });
  const { stdout } = await padron('backlog');
  expect(stdout).toContain('0 due; 0 under way; 0 wait for a retry; 3 held; 1 webhooks paused');
  expect(stdout).toContain(`${webhook}\taccount ${account}\tpausado\tdue 0\tunder way 0\tretry 0\theld 3`);
});

test('endpoint: how it stands and its last deliveries, without its URL', async () => {
  const shown = await document('endpoint', webhook);
  expect(shown).toMatchObject({ estado: 'pausado', pausedBy: 'cliente', held: 3, failuresInARow: 0, deletedAt: null });
  expect((shown as { deliveries: unknown[] }).deliveries).toHaveLength(3);
  const { stdout } = await padron('endpoint', webhook);
  expect(stdout).toContain('state pausado, paused by cliente');
  expect(stdout + JSON.stringify(shown)).not.toContain('clave-secreta');
  expect(await padron('endpoint', 'wh_nobody')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('no webhook'),
  });
});

// The endpoint is still paused from the first test, so the delivery that is sent again is held.
test('resend: held while paused; due after; a cancelled or unknown one is refused', async () => {
  const [first, second] = deliveries as [string, string, string];
  await harness.pool.query(`UPDATE delivery SET estado = 'agotada', finished_at = now() WHERE id = $1`, [first]);
  expect(await document('resend', first)).toEqual({ id: first, webhook, estado: 'retenida' });
  await resumeWebhook(harness.pool, webhook);
  await harness.pool.query(`UPDATE delivery SET estado = 'entregada', finished_at = now() WHERE id = $1`, [first]);
  expect(await document('resend', first)).toMatchObject({ estado: 'pendiente' });
  await harness.pool.query(`UPDATE delivery SET estado = 'cancelada' WHERE id = $1`, [second]);
  expect(await padron('resend', second)).toMatchObject({ code: 1, stderr: expect.stringContaining('is cancelled') });
  expect(await padron('resend', 'en_nobody')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('no delivery'),
  });
});

test('resend wakes the worker; where Temporal does not answer it says so, and has done its work all the same', async () => {
  const [first] = deliveries as [string, string, string];
  const resend = (temporalAddress: string) =>
    runCommand(['deliveries', 'resend', first], {
      ...environment(),
      TEMPORAL_ADDRESS: temporalAddress,
      TEMPORAL_NAMESPACE: namespace,
    });
  const { TEMPORAL_ADDRESS } = inject('endpoints');
  const namespace = await freshNamespace(inject('endpoints'));
  await harness.pool.query(`UPDATE delivery SET estado = 'entregada', finished_at = now() WHERE id = $1`, [first]);
  const woken = await resend(TEMPORAL_ADDRESS);
  expect(woken).toMatchObject({ code: 0, stderr: '', stdout: expect.stringContaining('was woken') });
  const client = await makeTemporal(TEMPORAL_ADDRESS, namespace);
  const workflow = client.workflow.getHandle(deliveryWorkflow.idOf(webhook));
  expect((await workflow.describe()).status.name).toBe('RUNNING');
  await workflow.terminate();
  await client.connection.close();

  await harness.pool.query(`UPDATE delivery SET estado = 'entregada', finished_at = now() WHERE id = $1`, [first]);
  // Nothing listens on port 1.
  const unreached = await resend('127.0.0.1:1');
  expect(unreached).toMatchObject({ code: 0, stderr: expect.stringContaining('did not take the wake-up') });
  expect(unreached.stdout).toContain('within half a minute');
  expect(await stateOf(first)).toBe('pendiente');

  await harness.pool.query(`UPDATE delivery SET estado = 'entregada', finished_at = now() WHERE id = $1`, [first]);
  expect(await resend('no address')).toMatchObject({ code: 1, stderr: expect.stringContaining('TEMPORAL_ADDRESS') });
  expect(await stateOf(first)).toBe('entregada');
});

test('resend: what a correction took back is refused, and which edition did', async () => {
  const [, , third] = deliveries as [string, string, string];
  await harness.edition(2, '2026-11-27', new Date(), { corrects: 1 });
  await harness.pool.query(
    'UPDATE event SET taken_back_by = 2 WHERE id = (SELECT event_id FROM delivery WHERE id = $1)',
    [third],
  );
  expect(await padron('resend', third)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('edition 2 (2026-11-27) corrected what it says'),
  });
  await harness.pool.query('UPDATE event SET taken_back_by = NULL');
});

test('recover: counts without sending; then makes due what failed, and leaves the rest', async () => {
  const [first, , third] = deliveries as [string, string, string];
  await harness.pool.query(`UPDATE delivery SET estado = 'agotada', finished_at = now() WHERE id = ANY($1)`, [
    [first, third],
  ]);
  const since = ['--since', '2020-01-01'];
  expect(await document('recover', webhook, ...since, '--dry-run')).toMatchObject({ estado: 'simulada', total: 2 });
  expect(await stateOf(first)).toBe('agotada');
  const stop = startRecovering(harness.pool, async () => {}, silentLog);
  const done = await document('recover', webhook, ...since, '--wait').finally(stop);
  expect(done).toMatchObject({ webhook, estado: 'terminada', total: 2, resent: 2 });
  expect([await stateOf(first), await stateOf(third)]).toEqual(['pendiente', 'pendiente']);
  expect((await padron('recover', webhook, '--since', '2026-11-20T09:00:00-05:00', '--dry-run')).stdout).toBe(
    'Up to 0 deliveries would be sent again: what a correction took back is left.\n',
  );
});

test.each([
  [['--since', 'yesterday'], 'is no time'],
  [['--since', '2026-11-20T09:00:00'], 'is no time'],
  [['--since', '2026-11-20', '--states', 'retenida'], 'is no state'],
  [[], 'required option'],
])('recover %j is refused: %s', async (words, message) => {
  const { code, stderr } = await padron('recover', webhook, ...words);
  expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining(message) });
});

test('recover --wait: exit code 2 when the customer cancels it, and 0 with what is done when the time is over', async () => {
  const [first] = deliveries as [string, string, string];
  await harness.pool.query(`UPDATE delivery SET estado = 'agotada', finished_at = now() WHERE id = $1`, [first]);
  const since = ['--since', '2020-01-01', '--wait'];
  // Nothing carries recoveries out here, so this one is still under way when the time is over.
  const late = await document<{ id: string; estado: string }>('recover', webhook, ...since, '--timeout', '1');
  expect(late).toMatchObject({ webhook, estado: 'en_curso', total: 1, resent: 0 });
  await cancelRecovery(harness.pool, webhook, late.id);

  const waiting = padron('recover', webhook, ...since);
  const running = `SELECT id FROM recovery WHERE estado = 'en_curso'`;
  await expect.poll(async () => (await harness.pool.query(running)).rows.length, { timeout: 30_000 }).toBe(1);
  const { rows } = await harness.pool.query<{ id: string }>(running);
  await cancelRecovery(harness.pool, webhook, rows[0]!.id);
  const cancelled = await waiting;
  expect([cancelled.code, cancelled.stdout]).toEqual([
    2,
    expect.stringMatching(/^Recovery \S+ was cancelled: 0 of 1 were made due, 1 were left: changed meanwhile/),
  ]);
});

test('recover: a sixth one at the same time is refused, and so is a deleted webhook, which is still shown', async () => {
  const recover = () => padron('recover', webhook, '--since', '2020-01-01');
  for (let running = 0; running < 5; running += 1) expect((await recover()).code).toBe(0);
  expect(await recover()).toMatchObject({
    code: 1,
    stdout: '',
    stderr: expect.stringContaining('5 recoveries under way'),
  });

  await harness.pool.query('UPDATE webhook SET deleted_at = now() WHERE id = $1', [webhook]);
  expect(await recover()).toMatchObject({ code: 1, stderr: expect.stringContaining('deleted ones get nothing') });
  expect((await padron('endpoint', webhook)).stdout).toContain('\nstate deleted');
});
