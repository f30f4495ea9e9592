import { afterEach, describe, expect, it } from 'vitest';
import { parseConfiguration } from '../../../../pipelines/runtime/config.ts';
import { mailBlock, makeMailer } from '../../../../pipelines/runtime/mail.ts';
import { makeAuthority } from '../../../support/delivery/authority.ts';
import { type MailServer, startMailServer } from '../../../support/delivery/mail-server.ts';

let server: MailServer | undefined;
afterEach(async () => {
  await server?.close();
  server = undefined;
});

const mail = {
  id: 'aviso-7',
  to: 'dueña@empresa.pe',
  subject: 'Su webhook está pausado',
  text: 'Año\n',
};
const configure = (environment: Record<string, string>) => parseConfiguration(mailBlock, environment);
const from = { SMTP_FROM: 'avisos@example.pe' };

describe('settings', () => {
  it('without a server there is no mail', () => {
    expect(makeMailer(configure(from))).toBeNull();
  });

  it('a server without a sender is a configuration error', () => {
    expect(() => makeMailer(configure({ SMTP_URL: 'smtp://localhost:25' }))).toThrow(/SMTP_FROM: is not set/);
    expect(() => configure({ SMTP_URL: 'http://localhost:25' })).toThrow(/SMTP_URL/);
  });
});

describe('sending', () => {
  it('goes over TLS with a login, and arrives unchanged', async () => {
    const authority = await makeAuthority('Mail');
    server = await startMailServer({ authority, login: ['padron', 'p@ss/word'] });
    const url = `smtp://padron:p%40ss%2Fword@localhost:${server.port}`;
    await makeMailer(configure({ ...from, SMTP_URL: url }), authority.caPem)!.send({ ...mail, to: 'ti@empresa.pe' });
    expect(server.mails).toHaveLength(1);
    const [received] = server.mails;
    expect(received).toMatchObject({ to: ['ti@empresa.pe'], secure: true });
    expect(received!.raw).toMatch(/^Message-ID: <aviso-7@example\.pe>\r$/m);
    expect(received!.raw).toMatch(/^Auto-Submitted: auto-generated\r$/m);
    expect(received!.raw).toMatch(/^Subject: =\?UTF-8\?Q\?Su_webhook_est=C3=A1_pausado\?=\r$/m);
  });

  it('a server without TLS, or with an untrusted certificate, gets nothing', async () => {
    server = await startMailServer({});
    const plain = makeMailer(configure({ ...from, SMTP_URL: `smtp://localhost:${server.port}` }))!;
    await expect(plain.send(mail)).rejects.toMatchObject({ name: 'MailError', retryable: true });
    expect(server.mails).toEqual([]);
    await server.close();
    server = await startMailServer({ authority: await makeAuthority('Unknown') });
    const untrusting = makeMailer(configure({ ...from, SMTP_URL: `smtp://localhost:${server.port}` }))!;
    await expect(untrusting.send(mail)).rejects.toMatchObject({ name: 'MailError', retryable: true });
    expect(server.mails).toEqual([]);
  });

  it.each([
    [550, false],
    [451, true],
  ])(
    'an answer %i to the address may be tried again: %s; nothing of it is repeated in the error',
    async (code, retryable) => {
      server = await startMailServer({});
      server.answer(code);
      const mailer = makeMailer(configure({ ...from, SMTP_URL: `smtp://localhost:${server.port}`, SMTP_TLS: 'off' }))!;
      const failure = await mailer.send(mail).then(
        () => null,
        (error: Error) => error,
      );
      expect(failure).toMatchObject({ name: 'MailError', retryable });
      expect(failure!.message).not.toMatch(/empresa|localhost|127\.0/);
    },
  );

  it('an address with further recipients or headers in it reaches nobody else', async () => {
    server = await startMailServer({});
    const mailer = makeMailer(configure({ ...from, SMTP_URL: `smtp://localhost:${server.port}`, SMTP_TLS: 'off' }))!;
    for (const to of ['a@empresa.pe, b@otra.pe', 'a@empresa.pe\r\nBcc: b@otra.pe']) {
      await mailer.send({ ...mail, to }).catch(() => {});
    }
    expect(server.mails.flatMap((each) => each.to).filter((to) => to === 'b@otra.pe')).toEqual([]);
    for (const { raw } of server.mails) expect(raw).not.toMatch(/^Bcc:/m);
  });
});
