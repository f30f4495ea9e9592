import { createTransport } from 'nodemailer';
import { z } from 'zod';
import { ConfigurationError } from './config.ts';

/** Mail is off unless SMTP_URL is set. */
export const mailBlock = z.object({
  /** The mail server: `smtp://user:password@host:port`, or `smtps:` for TLS from the first byte. */
  SMTP_URL: z.url({ protocol: /^smtps?$/ }).optional(),
  SMTP_FROM: z.email().optional(),
  /** `required` sends no mail to a server without TLS. `off` is for a relay on this machine or a private network. */
  SMTP_TLS: z.enum(['required', 'off']).default('required'),
});

export interface Mail {
  /** An id of letters, digits and dashes. Every attempt sends the same id, so that a repeated mail is recognised. */
  id: string;
  to: string;
  subject: string;
  text: string;
}

/**
 * The error of a failed mail. Its message holds the class of the failure and the server's reply code. The message never
 * holds an address or a text of the server.
 */
export class MailError extends Error {
  override name = 'MailError';
  readonly code: 'mail_refused' | 'mail_failed';
  /** False when the server will never accept mail for this address. */
  readonly retryable: boolean;

  constructor(code: MailError['code'], reason: string) {
    super(`mail not sent: ${reason}`);
    this.code = code;
    this.retryable = code === 'mail_failed';
  }
}

export interface Mailer {
  /** Resolves once the server has accepted the mail. @throws MailError */
  send: (mail: Mail) => Promise<void>;
}

/**
 * Makes a mailer of one SMTP server, or null when mail is off. Each mail gets a new connection, because mails are few.
 * @param ca PEM text of certificate authorities to trust instead of the usual ones
 * @throws ConfigurationError when SMTP_URL is set and SMTP_FROM is not
 */
export function makeMailer(config: z.output<typeof mailBlock>, ca?: string): Mailer | null {
  if (config.SMTP_URL === undefined) return null;
  const { SMTP_FROM: from } = config;
  if (from === undefined) throw new ConfigurationError('The configuration is not valid:\n  SMTP_FROM: is not set');
  const url = new URL(config.SMTP_URL);
  const secure = url.protocol === 'smtps:';
  const transport = createTransport({
    host: url.hostname.replace(/^\[(.*)\]$/, '$1'),
    port: url.port === '' ? (secure ? 465 : 587) : Number(url.port),
    secure,
    requireTLS: !secure && config.SMTP_TLS === 'required',
    ignoreTLS: config.SMTP_TLS === 'off',
    ...(url.username === ''
      ? {}
      : { auth: { user: decodeURIComponent(url.username), pass: decodeURIComponent(url.password) } }),
    tls: { minVersion: 'TLSv1.2', ...(ca === undefined ? {} : { ca }) },
    connectionTimeout: 10_000,
    greetingTimeout: 10_000,
    socketTimeout: 20_000,
    dnsTimeout: 5_000,
    // Our mails are plain text. No part of a mail may make the library read a file or fetch an address.
    disableFileAccess: true,
    disableUrlAccess: true,
    logger: false,
  });
  return {
    async send({ id, to, subject, text }) {
      const messageId = `<${id}@${from.slice(from.lastIndexOf('@') + 1)}>`;
      const headers = { 'Auto-Submitted': 'auto-generated' };
      try {
        await transport.sendMail({ from, to: { name: '', address: to }, subject, text, messageId, headers });
      } catch (error) {
        throw mailError(error);
      }
    },
  };
}

/**
 * A refusal of the recipient is final, unless its reply code is below 500. Other failures, such as a wrong password,
 * can be repaired.
 */
function mailError(error: unknown): MailError {
  const { code = 'ESOCKET', responseCode } = error as { code?: string; responseCode?: number };
  const reason = responseCode === undefined ? code : `${code} ${responseCode}`;
  const refused = code === 'EENVELOPE' && (responseCode === undefined || responseCode >= 500);
  return new MailError(refused ? 'mail_refused' : 'mail_failed', reason);
}
