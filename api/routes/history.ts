import { type HistoryMeta, historyQuery } from '../../schemas/http/history.ts';
import { padronReducido } from '../../schemas/registers.ts';
import { isCompany } from '../../schemas/ruc.ts';
import type { Identify } from '../accounts/callers.ts';
import { answerPrivately, answerRevalidated } from '../answers.ts';
import { readCursor, writeCursor } from '../input.ts';
import { charge, metered, reserve } from '../metering/middleware.ts';
import type { Meter } from '../metering/types.ts';
import type { RecordAnswer } from '../queries/audit.ts';
import type { FindHistory, HistoryPlace } from '../queries/history.ts';
import { type ApiRouter, access, callerOf, parseInput, requireContract, requireRuc } from '../request.ts';
import { noteAnswer, notInRegister } from './taxpayer.ts';

export interface HistoryParts {
  identify: Identify;
  meter: Meter;
  findHistory: FindHistory;
  recordAnswer: RecordAnswer;
}

const route = '/id/v1/ruc/:ruc/historial';

/** GET and HEAD /id/v1/ruc/{ruc}/historial: what each edition of each register changed of a taxpayer, newest first. */
export function registerHistoryRoutes(router: ApiRouter, parts: HistoryParts): void {
  const { identify, meter, findHistory, recordAnswer } = parts;
  router.get(route, access(identify, 'micro'), metered(meter), async (context) => {
    const { limite, cursor } = parseInput(historyQuery, context.query);
    const after = readPlace(cursor);
    const caller = callerOf(context);
    const ruc = requireRuc(context.params.ruc ?? '');
    const contract = isCompany(ruc) ? null : requireContract(caller);
    await reserve(context, meter, 1);
    const found = await findHistory(ruc, { after, maxEntries: limite });
    await noteAnswer(context, recordAnswer, { ruc, contract, route });
    if (!found.isFound) throw notInRegister(ruc, found.daily);
    if (found.entries.length > 0) charge(context);
    const { fuentes, tag, lastModified } = found.sources;
    const meta: HistoryMeta = {
      origen: padronReducido.title,
      fecha_dato: found.daily.edition.fechaDato,
      fuentes,
      cursor: found.next === null ? null : writePlace(found.next),
    };
    if (contract === null) return answerRevalidated(context, { meta, tag, lastModified }, found.entries);
    answerPrivately(context, 200, found.entries, meta);
  });
}

function writePlace({ day, register, edition, entry }: HistoryPlace): string {
  return writeCursor('historial', [day, register, edition, entry].join('.'));
}

/** @throws ApiProblem parametro_invalido */
function readPlace(cursor: string | undefined): HistoryPlace | null {
  if (cursor === undefined) return null;
  const [day, register, edition, entry] = readCursor('historial', cursor, '').split('.');
  return { day: day!, register: Number(register), edition: Number(edition), entry: Number(entry) };
}
