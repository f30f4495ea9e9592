import { limaTime } from '../../schemas/lima-time.ts';
import type { Notice, PauseCause } from './notices.ts';

/** A notice as it is mailed. Pure. Names a webhook by its id alone: a URL may hold a secret, a description a person. */
export function textOf(notice: Notice, webhookId: string, at: Date): { subject: string; text: string } {
  const { title, lines } = partsOf(notice);
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

function partsOf(notice: Notice): { title: string; lines: string[] } {
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
