import { inTransaction } from '../../pipelines/runtime/postgres.ts';
import type { BatchMeta } from '../../schemas/http/batch.ts';
import { successBody } from '../answers.ts';
import { requireContract } from '../checks.ts';
import type { ApiDependencies } from '../dependencies.ts';
import { type Run, RunLost, readIdempotencyKey } from '../idempotency/answers.ts';
import { ApiProblem, registerNotLoaded } from '../problems.ts';
import { type BatchPlan, batchEntries, planBatch } from '../queries/batch-entries.ts';
import { recordSourcesOf } from '../queries/record.ts';
import { type ApiContext, callerOf } from '../request.ts';
import type { Handlers } from '../router.ts';
import { auditAnswer } from './taxpayer.ts';

/**
 * Answers up to 100 records in one call. A repeat with the same Idempotency-Key gets the same answer free of charge.
 */
export function makeBatchHandlers(dependencies: ApiDependencies) {
  return {
    async consultarLote({ body }, context) {
      const key = readIdempotencyKey(context.req.headersDistinct['idempotency-key']);
      const plan = planBatch(body.rucs, callerOf(context).contract !== null);
      return key === null ? answerNew(context, plan, dependencies) : answerOnce(context, plan, key, dependencies);
    },
  } satisfies Partial<Handlers>;
}

/** Returns the answer that is stored under the key, or makes a new answer and stores it. */
async function answerOnce(
  context: ApiContext,
  plan: BatchPlan,
  key: string,
  dependencies: ApiDependencies,
): Promise<string> {
  const { idempotentAnswers, recordAnswers } = dependencies;
  const caller = callerOf(context);
  const begun = await idempotentAnswers.begin(caller.accountId, key, context.request.rawBody ?? '');
  if (begun.state === 'other_body')
    throw new ApiProblem('idempotencia_otro_cuerpo', 'Esta Idempotency-Key ya se usó con otro cuerpo. Use otra clave.');
  if (begun.state === 'running') throw stillRunning();
  if (begun.state === 'answered') {
    // The contract may have ended since the answer was stored. Then requireContract refuses natural persons' records.
    if (begun.holdsPersons) {
      requireContract(caller);
      await auditAnswer(context, recordAnswers, plan.persons);
    }
    context.set('Idempotency-Replayed', 'true');
    return begun.body;
  }
  return answerNew(context, plan, dependencies, begun.run).catch(async (error: unknown) => {
    // If the process dies here or PostgreSQL is down, the key becomes usable when its lease ends.
    await idempotentAnswers.free(begun.run).catch(() => {});
    throw error instanceof RunLost ? stillRunning() : error;
  });
}

function stillRunning(): ApiProblem {
  const detail = 'La petición con esta Idempotency-Key todavía está en curso. Repítala en unos segundos.';
  return new ApiProblem('idempotencia_en_curso', detail, {}, { 'Retry-After': '1' });
}

/**
 * Looks up the records and charges for them. If the process dies before the charge, the caller pays nothing. With a key
 * (`run`), one transaction stores the answer and charges. So a caller who paid gets the answer on a repeat.
 */
async function answerNew(
  context: ApiContext,
  plan: BatchPlan,
  { pool, meter, idempotentAnswers, ...dependencies }: ApiDependencies,
  run?: Run,
): Promise<string> {
  const caller = callerOf(context);
  await meter.requireUnits(caller, plan.wanted.length);
  const { body, charge } = await lookUp(plan, dependencies);
  await auditAnswer(context, dependencies.recordAnswers, plan.persons);
  if (run === undefined) {
    if (charge > 0) await meter.charge(caller, charge);
    return body;
  }
  await inTransaction(pool, async (client) => {
    await idempotentAnswers.keep(client, run, { body, holdsPersons: plan.persons.length > 0 });
    // The charge comes last, because it locks a row that every look-up of the account writes. Otherwise these look-ups
    // would wait until the answer is stored.
    if (charge > 0) await meter.chargeInTransaction(client, caller, charge);
  });
  return body;
}

async function lookUp(
  plan: BatchPlan,
  { catalogue, findRecord }: Pick<ApiDependencies, 'catalogue' | 'findRecord'>,
): Promise<{ body: string; charge: number }> {
  // Take the snapshot before the look-ups. Then no record is older than the date in `meta`; a newer one states its own.
  const editions = await catalogue.snapshot();
  if (editions.padron_reducido === undefined) throw registerNotLoaded();
  const records = await Promise.all(plan.wanted.map(async (ruc) => [ruc, await findRecord(ruc)] as const));
  const entries = batchEntries(plan, new Map(records));
  const charge = records.filter(([, record]) => record.isFound).length;
  const meta: BatchMeta = {
    solicitados: plan.entries.length,
    encontrados: entries.filter(({ encontrado }) => encontrado).length,
    cobrados: charge,
    ...recordSourcesOf(editions).meta,
  };
  return { body: successBody(entries, meta), charge };
}
