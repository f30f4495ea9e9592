import { type TaxpayerMeta, taxpayerQuery } from '../../schemas/http/taxpayer.ts';
import { limaDay } from '../../schemas/lima-time.ts';
import { isCompany } from '../../schemas/ruc.ts';
import type { Identify } from '../accounts/callers.ts';
import { answerPrivately, answerRevalidated } from '../answers.ts';
import { charge, metered, reserve } from '../metering/middleware.ts';
import type { Meter } from '../metering/types.ts';
import { ApiProblem } from '../problems.ts';
import type { RecordAnswer } from '../queries/audit.ts';
import type { FindRecord } from '../queries/current-rows.ts';
import type { FindRecordOnDay } from '../queries/record-on-day.ts';
import { type ApiRouter, access, callerOf, parseInput, requireContract, requireRuc } from '../request.ts';
import { requireDay } from './calendar-input.ts';
import { noteAnswer, notInRegister } from './taxpayer-answers.ts';

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
