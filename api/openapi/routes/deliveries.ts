import {
  createdRecoveryAnswer,
  deliveriesAnswer,
  deliveriesQuery,
  deliveryAnswer,
  newRecovery,
  recoveryAnswer,
  resentAnswer,
} from '../../../schemas/http/deliveries.ts';
import { noParameters } from '../../../schemas/http/envelope.ts';
import { noticesAnswer, noticesQuery } from '../../../schemas/http/webhooks.ts';
import type { Operation } from '../operation.ts';
import { deliveryParameter, recoveryParameters, webhookParameter } from '../parameters.ts';

const tag = 'Vigilancia';
const access = 'crecimiento';
const keeping = 'never';
const webhook = '/id/v1/watch/webhooks/{webhook}';

export const deliveryOperations = {
  verEntregas: {
    method: 'get',
    path: `${webhook}/entregas`,
    tag,
    summary: 'Lo que se envió o se enviará a un webhook',
    description: 'Lo más nuevo primero.',
    access,
    parameters: webhookParameter,
    query: deliveriesQuery,
    status: 200,
    schema: deliveriesAnswer,
    keeping,
    problems: ['recurso_no_encontrado'],
  },
  verEntrega: {
    method: 'get',
    path: '/id/v1/watch/entregas/{entrega}',
    tag,
    summary: 'Una entrega con sus intentos',
    description:
      '`fallo` es una clase; `resultado_desconocido`: el servicio se detuvo antes de anotar la respuesta, y el aviso se envió otra vez con el mismo id. `respuesta` es lo que contestó el receptor, hasta 16 kB; `respuesta_cortada` dice si era más. Los intentos se conservan 90 días.',
    access,
    parameters: deliveryParameter,
    status: 200,
    schema: deliveryAnswer,
    keeping,
    problems: ['recurso_no_encontrado'],
  },
  reenviarEntrega: {
    method: 'post',
    path: '/id/v1/watch/entregas/{entrega}/reenviar',
    tag,
    summary: 'Envía otra vez una entrega, con el mismo X-Service-Delivery',
    description:
      'Reemplaza al reintento pendiente. Con el webhook pausado queda `retenida`. Lo que una corrección retiró no se reenvía, se haya intentado o no: sería decir otra vez algo que no era cierto; el error (`parametro_invalido`) dice qué edición lo corrigió, y el aviso de la corrección ya fue a los webhooks a los que se intentó enviar el original. Tampoco se reenvía lo que se canceló al borrar su webhook.',
    access,
    parameters: deliveryParameter,
    body: noParameters,
    isBodyOptional: true,
    status: 202,
    schema: resentAnswer,
    keeping,
    problems: ['recurso_no_encontrado'],
  },
  crearRecuperacion: {
    method: 'post',
    path: `${webhook}/recuperaciones`,
    tag,
    summary: 'Envía otra vez lo que un webhook no recibió desde un instante',
    description:
      'Primero cuenta (`total`) y luego envía por partes, dentro de los límites del webhook, con los mismos X-Service-Delivery. `simular` solo cuenta. `estados` omitido: `agotada` y `descartada`. Lo que una corrección retiró no se envía y al final cuenta en `omitidas`.',
    access,
    parameters: webhookParameter,
    body: newRecovery,
    status: 202,
    schema: createdRecoveryAnswer,
    keeping,
    problems: ['recurso_no_encontrado', 'limite_excedido'],
  },
  verRecuperacion: {
    method: 'get',
    path: `${webhook}/recuperaciones/{recuperacion}`,
    tag,
    summary: 'Cuánto lleva una recuperación',
    access,
    parameters: recoveryParameters,
    status: 200,
    schema: recoveryAnswer,
    keeping,
    problems: ['recurso_no_encontrado'],
  },
  cancelarRecuperacion: {
    method: 'delete',
    path: `${webhook}/recuperaciones/{recuperacion}`,
    tag,
    summary: 'Detiene una recuperación',
    description: 'Lo que ya se puso a enviar se envía.',
    access,
    parameters: recoveryParameters,
    status: 204,
    schema: null,
    keeping,
    problems: ['recurso_no_encontrado'],
  },
  verAvisos: {
    method: 'get',
    path: '/id/v1/watch/avisos',
    tag,
    summary: 'Avisos sobre los webhooks de la cuenta: por pausarse, pausado, reanudado',
    description: 'Lo más nuevo primero.',
    access,
    query: noticesQuery,
    status: 200,
    schema: noticesAnswer,
    keeping,
  },
} as const satisfies Readonly<Record<string, Operation>>;
