import { inTransaction, type Pool } from '../../pipelines/runtime/postgres.ts';
import { type BatchMeta, batchRequest, maxBatchRucs } from '../../schemas/http/batch.ts';
import type { Identify } from '../accounts/callers.ts';
import { answerBytes, successBody } from '../answers.ts';
import type { Catalogue } from '../catalogue.ts';
import { type IdempotentAnswers, type Run, RunLost, readIdempotencyKey } from '../idempotency/answers.ts';
import { chargeInTransaction } from '../metering/meter.ts';
import { metered, reserve } from '../metering/middleware.ts';
import type { Meter, Reservation } from '../metering/types.ts';
import { ApiProblem, methodNotAllowed, registerNotLoaded, storeUnavailable } from '../problems.ts';
import type { RecordAnswers } from '../queries/audit.ts';
import { type BatchPlan, batchEntries, planBatch } from '../queries/batch-entries.ts';
import type { FindRecord } from '../queries/current-rows.ts';
import { recordSourcesOf } from '../queries/record.ts';
import {
  type ApiContext,
  type ApiRouter,
  access,
  bodyOf,
  callerOf,
  readBody,
  refuseQuery,
  requireContract,
} from '../request.ts';

export const batchPath = '/id/v1/ruc/batch';
/** Name of the layer that refuses what is no POST. */
export const otherMethods = 'other methods';

export interface BatchParts {
  identify: Identify;
  pool: Pool;
  catalogue: Catalogue;
  findRecord: FindRecord;
  recordAnswers: RecordAnswers;
  meter: Meter;
  idempotentAnswers: IdempotentAnswers;
}

/** A batch that was looked up and is not charged yet. */
interface LookedUp {
  body: string;
  charge: number;
}

/** POST /id/v1/ruc/batch: up to 100 records in one call; under an Idempotency-Key a repeat is the same answer and costs nothing. */
export function registerBatchRoutes(router: ApiRouter, parts: BatchParts): void {
  router.post(batchPath, access(parts.identify, 'micro'), metered(parts.meter), readBody, async (context) => {
    refuseQuery(context);
    const key = readIdempotencyKey(context.req.headersDistinct['idempotency-key']);
    refuseTooMany(context.request.body);
    const { rucs } = bodyOf(context, batchRequest);
    const plan = planBatch(rucs, callerOf(context).contract !== null);
    if (key === null) return answerBytes(context, 200, await answerNew(context, plan, parts));
    await answerOnce(context, plan, key, parts);
  });
  // `ruc/{ruc}` fits this path too: it would tell a GET that "batch" is no RUC.
  router.all(otherMethods, batchPath, (context) => {
    throw methodNotAllowed(context.method, ['POST']);
  });
}

/** Before each RUC is looked at: judging tens of thousands that are none costs more than a look-up. */
function refuseTooMany(body: unknown): void {
  const { rucs } = (body ?? {}) as { rucs?: unknown };
  if (!Array.isArray(rucs) || rucs.length <= maxBatchRucs) return;
  throw new ApiProblem('limite_excedido', `Un lote admite hasta ${maxBatchRucs} RUC; se recibieron ${rucs.length}.`);
}

async function answerOnce(context: ApiContext, plan: BatchPlan, key: string, parts: BatchParts): Promise<void> {
  const caller = callerOf(context);
  const begun = await parts.idempotentAnswers.begin(caller.accountId, key, context.request.rawBody ?? '');
  if (begun.state === 'other_body')
    throw new ApiProblem('idempotencia_otro_cuerpo', 'Esta Idempotency-Key ya se usó con otro cuerpo. Use otra clave.');
  if (begun.state === 'running') throw stillRunning();
  if (begun.state === 'answered') {
    // The contract may have ended since: what it opened is closed again, also what was answered before.
    if (begun.holdsPersons) requireContract(caller);
    await noteAnswers(context, begun.holdsPersons ? plan.persons : [], parts);
    context.set('Idempotency-Replayed', 'true');
    return answerBytes(context, 200, begun.body);
  }
  const body = await answerNew(context, plan, parts, begun.run).catch(async (error: unknown) => {
    // Dying here, or PostgreSQL being down: the key is usable again when its lease ends.
    await parts.idempotentAnswers.free(begun.run).catch(() => {});
    throw error instanceof RunLost ? stillRunning() : error;
  });
  answerBytes(context, 200, body);
}

function stillRunning(): ApiProblem {
  const detail = 'La petición con esta Idempotency-Key todavía está en curso. Repítala en unos segundos.';
  return new ApiProblem('idempotencia_en_curso', detail, {}, { 'Retry-After': '1' });
}

/** Reserves, looks up, charges. Dying before the charge costs the caller nothing, after it the answer is kept under its key. */
async function answerNew(context: ApiContext, plan: BatchPlan, parts: BatchParts, run?: Run): Promise<string> {
  const reservation = await reserve(context, parts.meter, plan.wanted.length);
  const { body, charge } = await lookUp(plan, parts);
  await noteAnswers(context, plan.persons, parts);
  if (run === undefined) reservation.charge(charge);
  else await chargeAndKeep(parts, reservation, charge, run, { body, holdsPersons: plan.persons.length > 0 });
  return body;
}

async function chargeAndKeep(
  { pool, idempotentAnswers }: BatchParts,
  reservation: Reservation,
  charge: number,
  run: Run,
  answer: { body: string; holdsPersons: boolean },
): Promise<void> {
  const settle = await inTransaction(pool, async (client) => {
    await idempotentAnswers.keep(client, run, answer);
    // Last: it locks what all batches of the account write.
    return chargeInTransaction(client, reservation, charge);
  });
  settle();
}

async function lookUp(plan: BatchPlan, { catalogue, findRecord }: BatchParts): Promise<LookedUp> {
  // Before the look-ups and never after: no record is older than what the answer's meta says, one may be newer and says so.
  const editions = await catalogue.snapshot();
  const daily = editions.padron_reducido;
  if (daily === undefined) throw registerNotLoaded();
  const records = await Promise.all(plan.wanted.map(async (ruc) => [ruc, await findRecord(ruc)] as const));
  const entries = batchEntries(plan, new Map(records));
  const charge = records.filter(([, record]) => record.isFound).length;
  const meta: BatchMeta = {
    solicitados: plan.entries.length,
    encontrados: entries.filter(({ encontrado }) => encontrado).length,
    cobrados: charge,
    ...recordSourcesOf(daily, editions).meta,
  };
  return { body: successBody(entries, meta), charge };
}

async function noteAnswers(context: ApiContext, rucs: readonly string[], { recordAnswers }: BatchParts): Promise<void> {
  if (rucs.length === 0) return;
  const caller = callerOf(context);
  const contract = requireContract(caller);
  const { accountId, tokenId } = caller;
  const { requestId } = context.state;
  await recordAnswers({ accountId, tokenId, contract, rucs, route: batchPath, requestId }).catch((error: unknown) => {
    throw storeUnavailable(error);
  });
}
