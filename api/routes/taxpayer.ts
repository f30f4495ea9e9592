import type { TaxpayerMeta } from '../../schemas/http/taxpayer.ts';
import { padronReducido } from '../../schemas/registers.ts';
import { isCompany, maskRuc } from '../../schemas/ruc.ts';
import type { EditionName, ServedRegister } from '../catalogue.ts';
import { requireContract, requirePastDay, requireRuc } from '../checks.ts';
import type { ApiDependencies } from '../dependencies.ts';
import { ApiProblem, throwUnavailable } from '../problems.ts';
import type { RecordAnswers } from '../queries/audit.ts';
import { type ApiContext, callerOf } from '../request.ts';
import type { Handlers } from '../router.ts';

/** Handler that shows what the registers hold about a taxpayer now, or held on a past day, with the data's dates. */
export function makeTaxpayerHandlers(dependencies: ApiDependencies) {
  const { meter, findRecord, findRecordOnDay, recordAnswers, now } = dependencies;
  return {
    async consultarRuc({ params, query: { fecha } }, context) {
      const ruc = requireRuc(params.ruc);
      const day = fecha === undefined ? null : requirePastDay(fecha, 'fecha', now());
      const isPerson = requireReadable(context, ruc);
      await meter.requireUnits(callerOf(context), 1);
      const found = day === null ? await findRecord(ruc) : await findRecordOnDay(ruc, day);
      if (isPerson) await auditAnswer(context, recordAnswers, [ruc]);
      if (!found.isFound) throw notInRegister(ruc, found.daily);
      await meter.charge(callerOf(context), 1);
      const { data, sources } = found;
      if (!isPerson) return { data, ...sources };
      const meta: TaxpayerMeta = { ...sources.meta };
      if (data.direccion === null) meta.direccion_motivo = 'no_publicada_persona_natural';
      return { data, meta };
    },
  } satisfies Partial<Handlers>;
}

/**
 * Whether the RUC is a natural person's.
 * @throws ApiProblem contrato_requerido for a natural person when the caller has no contract
 */
export function requireReadable(context: ApiContext, ruc: string): boolean {
  if (isCompany(ruc)) return false;
  requireContract(callerOf(context));
  return true;
}

/** Makes the problem for a RUC that the daily register lacks, with the date of the edition that lacks it. */
export function notInRegister(ruc: string, { edition }: ServedRegister): ApiProblem {
  const detail = `El RUC ${maskRuc(ruc)} no figura en la edición del ${edition.fechaDato}.`;
  const meta = { origen: padronReducido.title, fecha_dato: edition.fechaDato };
  return new ApiProblem('ruc_no_encontrado', detail, { encontrado: false, meta });
}

/**
 * Records an answer about natural persons in the audit, also when no record was found. Call this before the answer is
 * sent. Then a process that dies in between leaves audit rows without an answer, but never an answer without rows.
 * @throws ApiProblem servicio_no_disponible
 */
export async function auditAnswer(
  context: ApiContext,
  recordAnswers: RecordAnswers,
  rucs: readonly string[],
): Promise<void> {
  if (rucs.length === 0) return;
  await recordAnswers({ ...askerOf(context), rucs }).catch(throwUnavailable);
}

/**
 * Records an answer with the rows of an edition, natural persons' included. The rules are those of `auditAnswer`.
 * @throws ApiProblem servicio_no_disponible
 */
export async function auditEdition(
  context: ApiContext,
  recordAnswers: RecordAnswers,
  { register, number }: EditionName,
): Promise<void> {
  await recordAnswers({ ...askerOf(context), edition: { register, number } }).catch(throwUnavailable);
}

function askerOf(context: ApiContext) {
  const caller = callerOf(context);
  const { accountId, tokenId } = caller;
  const contract = requireContract(caller);
  return { accountId, tokenId, contract, route: String(context._matchedRoute), requestId: context.state.requestId };
}
