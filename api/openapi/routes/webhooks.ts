import { noParameters } from '../../../schemas/http/envelope.ts';
import {
  createdWebhookAnswer,
  newWebhook,
  resumption,
  webhookAnswer,
  webhooksAnswer,
} from '../../../schemas/http/webhooks.ts';
import type { Operation } from '../operation.ts';
import { webhookParameter } from '../parameters.ts';

const tag = 'Vigilancia';
const access = 'crecimiento';
const keeping = 'never';
const webhooks = '/id/v1/watch/webhooks';

export const webhookOperations = {
  crearWebhook: {
    method: 'post',
    path: webhooks,
    tag,
    summary: 'Registra la URL HTTPS que recibe los avisos',
    description:
      'La respuesta trae `secreto`, esta única vez: con él se verifica la firma de cada aviso. `eventos` y `listas` omitidos significan todos, también los que se creen después.',
    access,
    body: newWebhook,
    status: 201,
    schema: createdWebhookAnswer,
    keeping,
    problems: ['url_no_permitida', 'recurso_no_encontrado', 'limite_excedido'],
  },
  verWebhooks: {
    method: 'get',
    path: webhooks,
    tag,
    summary: 'Los webhooks de la cuenta',
    access,
    status: 200,
    schema: webhooksAnswer,
    keeping,
  },
  verWebhook: {
    method: 'get',
    path: `${webhooks}/{webhook}`,
    tag,
    summary: 'Un webhook',
    access,
    parameters: webhookParameter,
    status: 200,
    schema: webhookAnswer,
    keeping,
    problems: ['recurso_no_encontrado'],
  },
  pausarWebhook: {
    method: 'post',
    path: `${webhooks}/{webhook}/pausar`,
    tag,
    summary: 'Deja de enviar avisos y los guarda',
    access,
    parameters: webhookParameter,
    body: noParameters,
    isBodyOptional: true,
    status: 200,
    schema: webhookAnswer,
    keeping,
    problems: ['recurso_no_encontrado'],
  },
  reanudarWebhook: {
    method: 'post',
    path: `${webhooks}/{webhook}/reanudar`,
    tag,
    summary: 'Avisa que el destino funciona y vuelve a enviar',
    description: '`pendientes` decide sobre lo guardado: `todos` (por omisión), `ninguno` o desde un instante.',
    access,
    parameters: webhookParameter,
    body: resumption,
    isBodyOptional: true,
    status: 200,
    schema: webhookAnswer,
    keeping,
    problems: ['recurso_no_encontrado'],
  },
  borrarWebhook: {
    method: 'delete',
    path: `${webhooks}/{webhook}`,
    tag,
    summary: 'Borra un webhook y cancela lo pendiente',
    access,
    parameters: webhookParameter,
    status: 204,
    schema: null,
    keeping,
    problems: ['recurso_no_encontrado'],
  },
} as const satisfies Readonly<Record<string, Operation>>;
