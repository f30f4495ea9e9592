import { padronReducido } from '../../schemas/registers.ts';
import { isCompany, maskRuc } from '../../schemas/ruc.ts';
import type { Identify } from '../accounts/callers.ts';
import { answerPrivately, answerRevalidated } from '../answers.ts';
import type { ServedRegister } from '../catalogue.ts';
import { ApiProblem, storeUnavailable } from '../problems.ts';
import type { RecordAnswer } from '../queries/audit.ts';
import type { FindRecord } from '../queries/find-record.ts';
import { type ApiRouter, access, callerOf, refuseQuery } from '../request.ts';
import { requireContract, requireRuc } from '../rucs.ts';

export interface TaxpayerParts {
  identify: Identify;
  findRecord: FindRecord;
  recordAnswer: RecordAnswer;
}

const route = '/id/v1/ruc/:ruc';

/** GET and HEAD /id/v1/ruc/{ruc}: what the registers hold about a taxpayer, and of which dates. */
export function registerTaxpayerRoutes(router: ApiRouter, { identify, findRecord, recordAnswer }: TaxpayerParts): void {
  router.get(route, access(identify, 'free'), async (context) => {
    refuseQuery(context);
    const caller = callerOf(context);
    const ruc = requireRuc(context.params.ruc ?? '');
    const contract = isCompany(ruc) ? null : requireContract(caller);
    const found = await findRecord(ruc);
    if (contract !== null) {
      const { accountId, tokenId } = caller;
      const { requestId } = context.state;
      await recordAnswer({ accountId, tokenId, contract, ruc, route, requestId }).catch((error: unknown) => {
        throw storeUnavailable(error);
      });
    }
    if (!found.isFound) throw notInRegister(ruc, found.daily);
    const { data, sources } = found;
    if (contract === null) return answerRevalidated(context, sources, data);
    const { meta } = sources;
    if (data.direccion === null) meta.direccion_motivo = 'no_publicada_persona_natural';
    answerPrivately(context, 200, data, meta);
  });
}

function notInRegister(ruc: string, { edition }: ServedRegister): ApiProblem {
  const detail = `El RUC ${maskRuc(ruc)} no figura en la edición del ${edition.fechaDato}.`;
  const meta = { origen: padronReducido.title, fecha_dato: edition.fechaDato };
  return new ApiProblem('ruc_no_encontrado', detail, { encontrado: false, meta });
}
