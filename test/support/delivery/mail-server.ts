import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { SMTPServer } from 'smtp-server';
import type { Authority } from './authority.ts';

export interface ReceivedMail {
  to: string[];
  /** Headers and body as received. */
  raw: string;
  secure: boolean;
}

export interface MailServer {
  port: number;
  mails: ReceivedMail[];
  /** Sets the answer to later mails: a number from 400 up refuses the recipient, `hang_up` ends the connection. */
  answer: (how: 'accept' | 'hang_up' | number) => void;
  close: () => Promise<void>;
}

/** A local SMTP server that keeps the mails it receives. With an authority it offers STARTTLS and accepts one login. */
export async function startMailServer(options: {
  authority?: Authority;
  login?: [string, string];
}): Promise<MailServer> {
  const { authority, login } = options;
  const issued = await authority?.issue({ names: ['localhost', '127.0.0.1'] });
  const mails: ReceivedMail[] = [];
  let how: 'accept' | 'hang_up' | number = 'accept';
  const server = new SMTPServer({
    ...(issued === undefined ? { hideSTARTTLS: true } : { cert: issued.certificatePem, key: issued.keyPem }),
    ...(login === undefined ? { authOptional: true, disabledCommands: ['AUTH'] } : {}),
    onAuth: ({ username, password }, _session, done) =>
      username === login?.[0] && password === login?.[1] ? done(null, { user: username }) : done(new Error('no')),
    onRcptTo: (_address, _session, done) =>
      typeof how === 'number' ? done(Object.assign(new Error('refused'), { responseCode: how })) : done(),
    onData: (stream, session, done) => {
      void text(stream).then((raw) => {
        const to = session.envelope.rcptTo.map(({ address }) => address);
        mails.push({ to, raw, secure: session.secure });
        if (how === 'hang_up') server.close();
        else done();
      });
    },
  });
  server.on('error', () => {});
  server.listen(0, '127.0.0.1');
  await once(server.server, 'listening');
  return {
    port: (server.server.address() as AddressInfo).port,
    mails,
    answer: (next) => {
      how = next;
    },
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
}
