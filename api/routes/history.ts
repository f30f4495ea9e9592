import { padronReducido } from '../../schemas/registers.ts';
import { requireRuc } from '../checks.ts';
import type { ApiDependencies } from '../dependencies.ts';
import { readCursor, writeCursor } from '../input.ts';
import type { HistoryPlace } from '../queries/history.ts';
import { callerOf } from '../request.ts';
import type { Handlers } from '../router.ts';
import { auditAnswer, notInRegister, requireReadable } from './taxpayer.ts';

/** Handler of a taxpayer's history, which lists what each edition of each register changed, newest first. */
export function makeHistoryHandlers({ meter, findHistory, recordAnswers }: ApiDependencies) {
  return {
    async verHistorial({ params, query: { limite, cursor } }, context) {
      const after = readPlace(cursor);
      const ruc = requireRuc(params.ruc);
      const isPerson = requireReadable(context, ruc);
      await meter.requireUnits(callerOf(context), 1);
      const found = await findHistory(ruc, { after, maxEntries: limite });
      if (isPerson) await auditAnswer(context, recordAnswers, [ruc]);
      if (!found.isFound) throw notInRegister(ruc, found.daily);
      if (found.entries.length > 0) await meter.charge(callerOf(context), 1);
      const { fuentes, tag, modifiedAt } = found.sources;
      const meta = {
        origen: padronReducido.title,
        fecha_dato: found.daily.edition.fechaDato,
        fuentes,
        cursor: found.next === null ? null : writePlace(found.next),
      };
      const answer = { data: found.entries, meta };
      return isPerson ? answer : { ...answer, tag, modifiedAt };
    },
  } satisfies Partial<Handlers>;
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
