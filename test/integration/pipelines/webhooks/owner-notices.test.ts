import { afterAll, afterEach, beforeAll, beforeEach, expect, inject, it } from 'vitest';
import { parseConfiguration } from '../../../../pipelines/runtime/config.ts';
import { mailBlock, makeMailer } from '../../../../pipelines/runtime/mail.ts';
import { inTransaction } from '../../../../pipelines/runtime/postgres.ts';
import { claimOwnerMail, mailOwnerNotices, type OwnerMailRule } from '../../../../pipelines/webhooks/owner-mail.ts';
import { type OwnerNotice, writeOwnerNotice } from '../../../../pipelines/webhooks/owner-notices.ts';
import { pauseWebhook, resumeWebhook } from '../../../../pipelines/webhooks/pauses.ts';
import { type MailServer, startMailServer } from '../../../support/delivery/mail-server.ts';
import { makeWatchHarness, silentLog, type WatchHarness } from '../../../support/watch/harness.ts';

const rule: OwnerMailRule = { leaseMs: 60_000, maxAgeMs: 3_600_000, retryAfterMs: [0, 0] };
let harness: WatchHarness;
let server: MailServer;

beforeAll(async () => {
  harness = await makeWatchHarness(inject('endpoints'));
});
afterAll(() => harness.close());
beforeEach(async () => {
  await harness.pool.query('DELETE FROM notice');
  server = await startMailServer({});
});
afterEach(() => server.close());

async function webhook(email: string | null = 'ti@empresa.pe'): Promise<string> {
  const account = await harness.account();
  await harness.pool.query('UPDATE account SET email = $2 WHERE id = $1', [account, email]);
  return (await harness.webhook(account, 'https://example.com/clave-secreta')).id;
}

function dependencies() {
  const environment = { SMTP_URL: `smtp://127.0.0.1:${server.port}`, SMTP_FROM: 'avisos@example.pe', SMTP_TLS: 'off' };
  const mailer = makeMailer(parseConfiguration(mailBlock, environment))!;
  return { pool: harness.pool, mailer, log: silentLog, rule };
}

const notices = async (id: string) =>
  (
    await harness.pool.query(
      `SELECT kind, detail, mailed_at IS NOT NULL AS mailed, mail_attempts, mail_due_at FROM notice
       WHERE webhook_id = $1 ORDER BY id`,
      [id],
    )
  ).rows;

const write = (id: string, notice: OwnerNotice) =>
  inTransaction(harness.pool, (client) => writeOwnerNotice(client, id, notice));

// Without owner notices nobody would know that an endpoint was paused.
it('one pause and one resume, however many processes try, make one owner notice each: in the list and by mail', async () => {
  const id = await webhook();
  const paused = await Promise.all([1, 2, 3].map(() => pauseWebhook(harness.pool, id, 'respuesta_410')));
  expect(paused.filter(Boolean)).toHaveLength(1);
  await Promise.all([1, 2].map(() => resumeWebhook(harness.pool, id)));
  const sent = await Promise.all([1, 2, 3].map(() => mailOwnerNotices(dependencies())));
  expect(sent.reduce((sum, each) => sum + each, 0)).toBe(2);
  expect(await notices(id)).toMatchObject([
    { kind: 'webhook.pausado', detail: { causa: 'respuesta_410', fallos_consecutivos: 0 }, mailed: true },
    { kind: 'webhook.reanudado', detail: { liberadas: 0 }, mailed: true, mail_due_at: null },
  ]);
  expect(server.mails.map(({ to }) => to)).toEqual([['ti@empresa.pe'], ['ti@empresa.pe']]);
  const all = server.mails.map(({ raw }) => raw).join('\n');
  expect(all).toContain(id);
  expect(all).not.toContain('clave-secreta');
});

it('a warning is written once per series of failures, and again in the next series', async () => {
  const id = await webhook();
  const warning = (porcentaje: 50 | 90, primer_fallo_en: string): OwnerNotice => ({
    kind: 'webhook.por_pausar',
    detail: { porcentaje, fallos_consecutivos: 10, primer_fallo_en },
  });
  const [first, second] = ['2026-11-26T10:00:00.000Z', '2026-11-27T10:00:00.000Z'] as const;
  const written: boolean[] = [];
  for (const [percent, since] of [
    [50, first],
    [50, first],
    [90, first],
    [50, second],
  ] as const) {
    written.push(await write(id, warning(percent, since)));
  }
  expect(written).toEqual([true, false, true, true]);
  expect(await write('wh_of_nobody', warning(50, first))).toBe(false);
});

it('no owner notice is written for a change that was rolled back', async () => {
  const id = await webhook();
  const pause: OwnerNotice = { kind: 'webhook.pausado', detail: { causa: 'fallos', fallos_consecutivos: 20 } };
  const failing = inTransaction(harness.pool, async (client) => {
    await writeOwnerNotice(client, id, pause);
    throw new Error('rolled back');
  });
  await expect(failing).rejects.toThrow('rolled back');
  expect(await notices(id)).toEqual([]);
});

it('a mail server that is down gets the mail later; after the last try, or if the address is refused, it is given up', async () => {
  const id = await webhook();
  await pauseWebhook(harness.pool, id, 'cliente');
  server.answer(451);
  expect(await mailOwnerNotices(dependencies())).toBe(0);
  expect(await notices(id)).toMatchObject([{ mailed: false, mail_attempts: 3, mail_due_at: null }]);
  await resumeWebhook(harness.pool, id);
  server.answer(550);
  expect(await mailOwnerNotices(dependencies())).toBe(0);
  expect((await notices(id))[1]).toMatchObject({ mailed: false, mail_attempts: 1, mail_due_at: null });
  const again = await webhook();
  await pauseWebhook(harness.pool, again, 'cliente');
  const down = { ...dependencies(), rule: { ...rule, retryAfterMs: [60_000] } };
  await server.close();
  expect(await mailOwnerNotices(down)).toBe(0);
  expect((await notices(again))[0].mail_due_at.getTime()).toBeGreaterThan(Date.now() + 50_000);
  await harness.pool.query('UPDATE notice SET mail_due_at = now() WHERE webhook_id = $1', [again]);
  server = await startMailServer({});
  expect(await mailOwnerNotices(dependencies())).toBe(1);
});

it('if a process dies while it sends a mail, another sends it after the lease with the same Message-ID', async () => {
  const id = await webhook();
  await pauseWebhook(harness.pool, id, 'fallos');
  const { mailer } = dependencies();
  const dying = {
    ...dependencies(),
    mailer: {
      send: (mail: Parameters<typeof mailer.send>[0]) =>
        mailer.send(mail).then(() => Promise.reject(new Error('killed'))),
    },
  };
  await expect(mailOwnerNotices(dying)).rejects.toThrow('killed');
  expect(await mailOwnerNotices(dependencies())).toBe(0);
  await harness.pool.query('UPDATE notice SET mail_due_at = now() WHERE webhook_id = $1', [id]);
  expect(await mailOwnerNotices(dependencies())).toBe(1);
  const ids = server.mails.map(({ raw }) => /^Message-ID: (.+)\r$/m.exec(raw)![1]);
  expect(ids).toHaveLength(2);
  expect(new Set(ids).size).toBe(1);
});

it('without an address there is no mail until there is one; notices older than two days are never mailed', async () => {
  const id = await webhook(null);
  await pauseWebhook(harness.pool, id, 'fallos');
  expect(await claimOwnerMail(harness.pool, rule)).toBeNull();
  await harness.pool.query(`UPDATE account SET email = 'ti@empresa.pe'`);
  await harness.pool.query(`UPDATE notice SET at = now() - interval '2 hours'`);
  expect(await claimOwnerMail(harness.pool, rule)).toBeNull();
  expect(await claimOwnerMail(harness.pool, { ...rule, maxAgeMs: 3 * 3_600_000 })).toMatchObject({ webhookId: id });
});
