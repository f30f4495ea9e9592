import { limaTime } from '../../schemas/lima-time.ts';
import type { Logger } from '../runtime/log.ts';
import { MailError, type Mailer } from '../runtime/mail.ts';
import type { Pool } from '../runtime/postgres.ts';
import type { OwnerNotice, PauseCause } from './owner-notices.ts';

interface OwnerMail {
  id: number;
  email: string;
  webhookId: string;
  notice: OwnerNotice;
  at: Date;
  attempt: number;
}

export interface OwnerMailRule {
  /**
   * Length of a mail's lease. It must be longer than one try to send the mail can take. Otherwise another process could
   * send the mail during the try.
   */
  leaseMs: number;
  /** Notices older than this are not mailed. A mail server that is set up today must not send last month's notices. */
  maxAgeMs: number;
  /** Waits after the first, second, … failed try. If the try after the last wait fails too, the mail is given up. */
  retryAfterMs: readonly number[];
}

/**
 * Leases the owner notice whose mail has been due longest; returns null if no mail is due. Several processes may call
 * it at once. Each leases only the mail that it sends next. Otherwise leases could end while their mails wait. If the
 * process dies after the claim, the mail is sent again with the same Message-ID when the lease ends.
 */
export async function claimOwnerMail(pool: Pool, rule: OwnerMailRule): Promise<OwnerMail | null> {
  const { rows } = await pool.query<OwnerMail>(
    `WITH due AS (
       SELECT n.id, a.email FROM notice n JOIN account a ON a.id = n.account_id
       WHERE n.mail_due_at <= now() AND n.at > now() - make_interval(secs => $1) AND a.email <> ''
       ORDER BY n.mail_due_at LIMIT 1 FOR UPDATE OF n SKIP LOCKED)
     UPDATE notice n SET mail_attempts = n.mail_attempts + 1, mail_due_at = now() + make_interval(secs => $2)
     FROM due WHERE n.id = due.id
     RETURNING n.id, due.email, n.webhook_id AS "webhookId", n.at, n.mail_attempts AS attempt,
       json_build_object('kind', n.kind, 'detail', n.detail) AS notice`,
    [rule.maxAgeMs / 1_000, rule.leaseMs / 1_000],
  );
  return rows[0] ?? null;
}

type MailOutcome = 'sent' | 'given_up' | { retryInMs: number };

/**
 * Records the outcome of a try to send the mail. Does nothing if a later try has started, because then only the later
 * try's outcome counts.
 */
async function recordOwnerMail(pool: Pool, { id, attempt }: OwnerMail, outcome: MailOutcome): Promise<void> {
  const retryInMs = typeof outcome === 'object' ? outcome.retryInMs : null;
  await pool.query(
    `UPDATE notice SET mailed_at = CASE WHEN $3 THEN now() END,
       mail_due_at = now() + make_interval(secs => $4::double precision)
     WHERE id = $1 AND mail_attempts = $2 AND mailed_at IS NULL`,
    [id, attempt, outcome === 'sent', retryInMs === null ? null : retryInMs / 1_000],
  );
}

const minuteMs = 60_000;
export const defaultOwnerMailRule: OwnerMailRule = {
  leaseMs: 2 * minuteMs,
  maxAgeMs: 48 * 60 * minuteMs,
  retryAfterMs: [1, 5, 15, 60, 240, 720].map((minutes) => minutes * minuteMs),
};

export interface OwnerMailDependencies {
  pool: Pool;
  mailer: Mailer;
  log: Logger;
  rule: OwnerMailRule;
}

/** Sends due mails one by one until none is due or `stop` aborts. Returns how many mails the mail server accepted. */
export async function mailOwnerNotices(dependencies: OwnerMailDependencies, stop?: AbortSignal): Promise<number> {
  let sent = 0;
  for (;;) {
    const due = stop?.aborted ? null : await claimOwnerMail(dependencies.pool, dependencies.rule);
    if (due === null) return sent;
    const outcome = await mailOne(dependencies, due);
    await recordOwnerMail(dependencies.pool, due, outcome);
    if (outcome === 'sent') sent += 1;
  }
}

async function mailOne({ mailer, log, rule }: OwnerMailDependencies, due: OwnerMail): Promise<MailOutcome> {
  const line = { notice: due.id, webhook: due.webhookId, kind: due.notice.kind, attempt: due.attempt };
  try {
    const { subject, text } = textOf(due.notice, due.webhookId, due.at);
    await mailer.send({ id: `aviso-${due.id}`, to: due.email, subject, text });
    log.info(line, 'owner notice mailed');
    return 'sent';
  } catch (error) {
    if (!(error instanceof MailError)) throw error;
    const retryInMs = error.retryable ? rule.retryAfterMs[due.attempt - 1] : undefined;
    log.warn({ ...line, err: error, retryInMs }, 'owner notice not mailed');
    return retryInMs === undefined ? 'given_up' : { retryInMs };
  }
}

/** Makes the mail. It names the webhook only by its id: a URL may hold a secret, and a description a person's name. */
function textOf(notice: OwnerNotice, webhookId: string, at: Date): { subject: string; text: string } {
  const { title, lines } = contentOf(notice);
  const text = [
    `${title} (${limaTime(at)}).`,
    '',
    `Webhook: ${webhookId}`,
    ...lines,
    '',
    `Su estado y sus entregas: GET /id/v1/watch/webhooks/${webhookId} y …/entregas`,
    'Todos los avisos: GET /id/v1/watch/avisos',
    '',
  ];
  return { subject: `${title}: ${webhookId}`, text: text.join('\n') };
}

function contentOf(notice: OwnerNotice): { title: string; lines: string[] } {
  switch (notice.kind) {
    case 'webhook.por_pausar':
      return {
        title: 'Su webhook está por pausarse',
        lines: [
          `Fallos consecutivos: ${notice.detail.fallos_consecutivos}, el primero el ${limaTime(new Date(notice.detail.primer_fallo_en))}.`,
          `Va en el ${notice.detail.porcentaje} % del camino hacia la pausa. Una sola entrega aceptada (2xx) empieza la cuenta de nuevo.`,
        ],
      };
    case 'webhook.pausado':
      return {
        title: 'Su webhook está pausado',
        lines: [
          `Motivo: ${causes[notice.detail.causa]}. Fallos consecutivos: ${notice.detail.fallos_consecutivos}.`,
          'Las notificaciones se retienen; no se pierden y no se envían.',
          'Cuando el receptor esté listo: POST /id/v1/watch/webhooks/{id}/reanudar',
        ],
      };
    case 'webhook.reanudado':
      return {
        title: 'Su webhook está activo de nuevo',
        lines: [`Notificaciones retenidas que se envían ahora: ${notice.detail.liberadas}.`],
      };
  }
}

const causes: Readonly<Record<PauseCause, string>> = {
  fallos: 'fallaron muchas entregas seguidas',
  respuesta_410: 'el receptor respondió 410 (Gone)',
  cliente: 'se pidió con su token',
  plan: 'su plan ya no incluye la vigilancia; lo retenido se guarda 30 días',
};
