import { type TaxpayerMeta, taxpayerQuery } from '../../schemas/http/taxpayer.ts';
import { limaDay } from '../../schemas/lima-time.ts';
import { padronReducido } from '../../schemas/registers.ts';
import { isCompany, maskRuc } from '../../schemas/ruc.ts';
import type { Identify } from '../accounts/callers.ts';
import { answerPrivately, answerRevalidated } from '../answers.ts';
import type { ServedRegister } from '../catalogue.ts';
import { charge, metered, reserve } from '../metering/middleware.ts';
import type { Meter } from '../metering/types.ts';
import { ApiProblem, storeUnavailable } from '../problems.ts';
import type { RecordAnswer } from '../queries/audit.ts';
import type { FindRecord } from '../queries/current-rows.ts';
import type { FindRecordOnDay } from '../queries/record-on-day.ts';
import {
  type ApiContext,
  type ApiRouter,
  access,
  callerOf,
  parseInput,
  requireContract,
  requireRuc,
} from '../request.ts';
import { requireDay } from './calendar-input.ts';

export interface TaxpayerParts {
  identify: Identify;
  meter: Meter;
  findRecord: FindRecord;
  findRecordOnDay: FindRecordOnDay;
  recordAnswer: RecordAnswer;
  now(): Date;
}

const route = '/id/v1/ruc/:ruc';

/** GET and HEAD /id/v1/ruc/{ruc}?fecha: what the registers hold about a taxpayer, or held on a day, and of which dates. */
export function registerTaxpayerRoutes(router: ApiRouter, parts: TaxpayerParts): void {
  const { identify, meter, findRecord, findRecordOnDay, recordAnswer, now } = parts;
  router.get(route, access(identify, 'free'), metered(meter), async (context) => {
    const { fecha } = parseInput(taxpayerQuery, context.query);
    const caller = callerOf(context);
    const ruc = requireRuc(context.params.ruc ?? '');
    const day = fecha === undefined ? null : requirePastDay(fecha, now());
    const contract = isCompany(ruc) ? null : requireContract(caller);
    await reserve(context, meter, 1);
    const found = day === null ? await findRecord(ruc) : await findRecordOnDay(ruc, day);
    await noteAnswer(context, recordAnswer, { ruc, contract, route });
    if (!found.isFound) throw notInRegister(ruc, found.daily);
    charge(context);
    const { data, sources } = found;
    if (contract === null) return answerRevalidated(context, sources, data);
    const meta: TaxpayerMeta = { ...sources.meta };
    if (data.direccion === null) meta.direccion_motivo = 'no_publicada_persona_natural';
    answerPrivately(context, 200, data, meta);
  });
}

/**
 * A day that has begun in Lima.
 * @throws ApiProblem fecha_invalida
 */
function requirePastDay(text: string, now: Date): string {
  const day = requireDay(text, 'fecha');
  if (day <= limaDay(now)) return day;
  const mensaje = 'no puede ser una fecha futura';
  throw new ApiProblem('fecha_invalida', `fecha: ${mensaje}.`, { errors: [{ campo: 'fecha', mensaje }] });
}

/** A claim about a dated edition of the daily register. */
export function notInRegister(ruc: string, { edition }: ServedRegister): ApiProblem {
  const detail = `El RUC ${maskRuc(ruc)} no figura en la edición del ${edition.fechaDato}.`;
  const meta = { origen: padronReducido.title, fecha_dato: edition.fechaDato };
  return new ApiProblem('ruc_no_encontrado', detail, { encontrado: false, meta });
}

/**
 * Notes that this answer about a natural person is given, also when it is that there is none. Before it is sent: see audit.ts.
 * @param contract null: a company's, of which nothing is noted
 * @throws ApiProblem servicio_no_disponible
 */
export async function noteAnswer(
  context: ApiContext,
  recordAnswer: RecordAnswer,
  about: { ruc: string; contract: string | null; route: string },
): Promise<void> {
  const { ruc, contract, route } = about;
  if (contract === null) return;
  const { accountId, tokenId } = callerOf(context);
  const { requestId } = context.state;
  await recordAnswer({ accountId, tokenId, contract, ruc, route, requestId }).catch((error: unknown) => {
    throw storeUnavailable(error);
  });
}
