import type { StoredOwnerNotice } from '../../../../pipelines/webhooks/owner-notices.ts';
import type { Recovery } from '../../../../pipelines/webhooks/recoveries.ts';
import type { Webhook } from '../../../../pipelines/webhooks/webhooks.ts';
import type { DeliveryState } from '../../../../schemas/http/events.ts';

// States of deliveries, webhooks and recoveries in words.

export const deliveryStateTexts: Readonly<Record<DeliveryState, string>> = {
  pendiente: 'Pendiente',
  en_curso: 'En curso',
  entregada: 'Entregada',
  agotada: 'Agotada',
  retenida: 'Retenida',
  descartada: 'Descartada',
  cancelada: 'Cancelada',
};

/** What a state means, for whoever sees it the first time. */
export const deliveryStateHelp: Readonly<Record<DeliveryState, string>> = {
  pendiente: 'Espera su envío o el siguiente intento.',
  en_curso: 'Se está enviando ahora.',
  entregada: 'Su servidor contestó con un 2xx.',
  agotada: 'Fallaron todos los intentos.',
  retenida: 'El webhook está en pausa; se envía al reanudarlo.',
  descartada: 'Al reanudar el webhook se eligió no enviarla.',
  cancelada: 'Una corrección retiró lo que decía, o su webhook se borró.',
};

export function webhookStateText({ estado, pausado_por }: Pick<Webhook, 'estado' | 'pausado_por'>): string {
  if (estado === 'activo') return 'Activo';
  switch (pausado_por) {
    case 'cliente':
      return 'En pausa, por usted';
    case 'fallos':
      return 'En pausa: su servidor falló demasiado';
    case 'respuesta_410':
      return 'En pausa: su servidor contestó 410';
    case null:
      return 'En pausa: el plan no incluye avisos';
  }
}

export const recoveryStateTexts: Readonly<Record<Recovery['estado'], string>> = {
  simulada: 'Solo contada',
  en_curso: 'En curso',
  terminada: 'Terminada',
  cancelada: 'Cancelada',
};

/** Classes of failure of an attempt. One that is not here is shown as it is stored. */
const failures: Readonly<Record<string, string>> = {
  direccion_no_permitida: 'la dirección no se admite como destino',
  nombre_no_resuelto: 'el nombre del servidor no se encuentra (DNS)',
  sin_conexion: 'no se pudo conectar con su servidor',
  conexion_interrumpida: 'la conexión se cortó',
  tiempo_agotado: 'su servidor no contestó a tiempo',
  certificado_vencido: 'el certificado TLS venció',
  certificado_no_confiable: 'el certificado TLS no es de una autoridad conocida',
  certificado_de_otro_nombre: 'el certificado TLS es de otro nombre',
  tls_fallido: 'la conexión TLS no se estableció',
  respuesta_ilegible: 'la respuesta no es HTTP',
  redireccion: 'su servidor contestó con una redirección, que no se sigue',
  estado_http: 'su servidor contestó con un error',
  resultado_desconocido: 'no se sabe si llegó: el envío se interrumpió',
};

export function failureText(failure: string): string {
  return Object.hasOwn(failures, failure) ? failures[failure]! : failure.replaceAll('_', ' ');
}

export const noticeTexts: Readonly<Record<StoredOwnerNotice['kind'], string>> = {
  'webhook.por_pausar': 'Se pausará si sigue fallando',
  'webhook.pausado': 'Se pausó',
  'webhook.reanudado': 'Se reanudó',
};
