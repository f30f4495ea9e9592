import type { z } from 'zod';
import { DecisionError } from '../../../pipelines/editions/decisions.ts';
import { inTransaction, type Pool, type PoolClient } from '../../../pipelines/runtime/postgres.ts';
import type { Actor } from '../../operators/audit.ts';
import { type Order, orderBy } from '../../operators/decisions.ts';
import type { OperatorDependencies } from '../../operators/dependencies.ts';
import { freshMinutes, type OperatorSession } from '../../operators/sessions.ts';
import { ApiProblem, notFound } from '../../problems.ts';
import { form, type Page, type PageForm, type Redirect, type SessionRequest, type View } from '../page.ts';
import { refusedForm } from '../sessions/form-tokens.ts';

export type OperatorRequest<Query = unknown> = SessionRequest<OperatorSession, Query>;
export type OperatorPage = Page<OperatorRequest>;

type WithQuery<Query extends z.ZodObject> = Omit<Page<OperatorRequest<z.output<Query>>>, 'query'> & { query: Query };

/** Gives `show` and the forms the types of the page's filters. */
export function operatorPageWithQuery<Query extends z.ZodObject>(page: WithQuery<Query>): OperatorPage {
  return page as unknown as OperatorPage;
}

/** Whether the operator may act. Pages show no forms to others. */
export function mayDecide({ session }: Pick<OperatorRequest, 'session'>): boolean {
  return session.role === 'decider';
}

/** Makes a form that only a decider may send, whatever the page shows. */
export function decision<Schema extends z.ZodObject>(
  fields: Schema,
  submit: (values: z.output<Schema>, request: OperatorRequest, actor: Actor) => Promise<Redirect | View>,
): PageForm<OperatorRequest> {
  return form(fields, async (values: z.output<Schema>, request: OperatorRequest) => {
    if (!mayDecide(request)) throw refusedForm('Su rol permite ver, no decidir (role viewer).');
    return submit(values, request, { name: request.session.name, way: 'console' });
  });
}

/**
 * Takes a decision in one transaction. A decision that the state does not allow is shown above the form.
 * @throws ApiProblem parametro_invalido, recurso_no_encontrado
 */
export async function decideIn<Result>(pool: Pool, act: (client: PoolClient) => Promise<Result>): Promise<Result> {
  try {
    return await inTransaction(pool, act);
  } catch (error) {
    if (!(error instanceof DecisionError)) throw error;
    if (error.code === 'publication_unknown') throw notFound('La publicación');
    if (error.code === 'edition_unknown') throw notFound('La edición');
    throw new ApiProblem('parametro_invalido', `${refusals[error.code]} (${error.message})`);
  }
}

/** Why the state does not allow a decision. The command's own words follow in brackets. */
const refusals: Readonly<Record<DecisionError['code'], string>> = {
  publication_unknown: 'No existe la publicación.',
  edition_unknown: 'No existe la edición.',
  state_forbids: 'El estado actual no lo permite.',
  date_missing: 'La publicación llegó sin fecha: indique el día de sus datos.',
  date_ahead: 'Ese día todavía no llega.',
  older_than_head: 'Es anterior a la edición vigente: indique el día de sus datos, o rechácela.',
  bytes_missing: 'Nunca se descargó completa: pida otra vez el registro.',
  already_corrected: 'La edición ya se deshizo, o está por deshacerse.',
  not_correctable: 'La edición escribió filas que no tenían nada antes: no hay a qué volver.',
};

/**
 * Orders a run of a workflow and returns where that led, for the page's `done`.
 * @throws ApiProblem parametro_invalido
 */
export async function orderIn(
  { pool, giveOrder, log }: Pick<OperatorDependencies, 'pool' | 'giveOrder' | 'log'>,
  actor: Actor,
  order: Order,
): Promise<'pedido' | 'en_cola'> {
  if (giveOrder === null) throw refusal('Este proceso no conoce a Temporal: falta TEMPORAL_ADDRESS.');
  const outcome = await orderBy(pool, actor, order, async (wanted) => {
    try {
      return await giveOrder(wanted);
    } catch (error) {
      log.warn({ err: error, order }, 'an order did not arrive');
      throw refusal('Temporal no responde. No se pidió nada: pruebe de nuevo en un momento.');
    }
  });
  if (outcome === 'paused') throw refusal('Alguien pausó el horario en la página de Temporal: reanúdelo allí primero.');
  return outcome === 'started' ? 'pedido' : 'en_cola';
}

function refusal(text: string): ApiProblem {
  return new ApiProblem('parametro_invalido', text);
}

/**
 * Refuses an act that shows a secret in an old session, which somebody else may have found open.
 * @throws ApiProblem parametro_invalido
 */
export function requireFresh({ session }: Pick<OperatorRequest, 'session'>, now: Date): void {
  if (now.getTime() - session.startedAt.getTime() <= freshMinutes * 60_000) return;
  const remedy = 'Pida otro enlace y entre de nuevo';
  throw new ApiProblem('parametro_invalido', `${remedy}: su sesión empezó hace más de ${freshMinutes} minutos.`);
}

/** Returns the number in a path, or refuses the path as unknown. @throws ApiProblem recurso_no_encontrado */
export function numberIn(text: string | undefined, what: string): number {
  if (!/^[1-9][0-9]{0,14}$/.test(text ?? '')) throw notFound(what);
  return Number(text);
}
