import type { Logger } from '../runtime/log.ts';
import { MailError, type Mailer } from '../runtime/mail.ts';
import type { Pool } from '../runtime/postgres.ts';
import {
  claimNoticeMail,
  type MailLimits,
  type MailOutcome,
  type NoticeToMail,
  recordNoticeMail,
} from './notices-mail.ts';
import { textOf } from './notices-text.ts';

export interface NoticeMailRule extends MailLimits {
  /** Waits after the first, second, … failed try; after the last one the mail is given up. */
  retryAfterMs: readonly number[];
}

const minuteMs = 60_000;
export const defaultNoticeMailRule: NoticeMailRule = {
  leaseMs: 2 * minuteMs,
  maxAgeMs: 48 * 60 * minuteMs,
  retryAfterMs: [1, 5, 15, 60, 240, 720].map((minutes) => minutes * minuteMs),
};

export interface NoticeMailerParts {
  pool: Pool;
  mailer: Mailer;
  log: Logger;
  rule: NoticeMailRule;
}

/** Mails what is due, one after the other, until nothing is or the stop is asked for. Returns how many were taken by the server. */
export async function mailNotices(parts: NoticeMailerParts, stop?: AbortSignal): Promise<number> {
  let sent = 0;
  for (;;) {
    const due = stop?.aborted ? null : await claimNoticeMail(parts.pool, parts.rule);
    if (due === null) return sent;
    const outcome = await mailOne(parts, due);
    await recordNoticeMail(parts.pool, due, outcome);
    if (outcome === 'sent') sent += 1;
  }
}

async function mailOne({ mailer, log, rule }: NoticeMailerParts, due: NoticeToMail): Promise<MailOutcome> {
  const line = { notice: due.id, webhook: due.webhookId, kind: due.notice.kind, attempt: due.attempt };
  try {
    const { subject, text } = textOf(due.notice, due.webhookId, due.at);
    await mailer.send({ id: `aviso-${due.id}`, to: due.email, subject, text });
    log.info(line, 'notice mailed');
    return 'sent';
  } catch (error) {
    if (!(error instanceof MailError)) throw error;
    const retryInMs = error.retryable ? rule.retryAfterMs[due.attempt - 1] : undefined;
    log.warn({ ...line, err: error, retryInMs }, 'notice not mailed');
    return retryInMs === undefined ? 'given_up' : { retryInMs };
  }
}
