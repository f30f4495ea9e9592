import { padronReducido } from '../../schemas/registers.ts';
import { maskRuc } from '../../schemas/ruc.ts';
import type { ServedRegister } from '../catalogue.ts';
import { ApiProblem, storeUnavailable } from '../problems.ts';
import type { RecordAnswer } from '../queries/audit.ts';
import { type ApiContext, callerOf } from '../request.ts';

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
