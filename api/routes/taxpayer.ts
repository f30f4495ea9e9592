import type { TaxpayerMeta } from '../../schemas/http/taxpayer.ts';
import { padronReducido } from '../../schemas/registers.ts';
import { isCompany, maskRuc } from '../../schemas/ruc.ts';
import type { Identify } from '../accounts/callers.ts';
import { answerPrivately, answerRevalidated } from '../answers.ts';
import type { Catalogue, ServedRegister } from '../catalogue.ts';
import { makeLastKnown } from '../last-known.ts';
import { ApiProblem, storeUnavailable } from '../problems.ts';
import type { RecordAnswer } from '../queries/audit.ts';
import { taxpayerRecordOf } from '../queries/taxpayer-record.ts';
import type { StoredRow } from '../queries/taxpayer-rows.ts';
import type { Taxpayers } from '../queries/taxpayers.ts';
import { type ApiRouter, access, callerOf, refuseQuery } from '../request.ts';
import { requireContract, requireRuc } from '../rucs.ts';

export interface TaxpayerParts {
  identify: Identify;
  catalogue: Catalogue;
  taxpayers: Taxpayers;
  recordAnswer: RecordAnswer;
}

const route = '/id/v1/ruc/:ruc';

/** GET and HEAD /id/v1/ruc/{ruc}: what the registers hold about a taxpayer, and of which date. */
export function registerTaxpayerRoutes(router: ApiRouter, parts: TaxpayerParts): void {
  const { catalogue, recordAnswer } = parts;
  const findRow = makeFindRow(parts.taxpayers);

  router.get(route, access(parts.identify, 'free'), async (context) => {
    refuseQuery(context);
    const caller = callerOf(context);
    const ruc = requireRuc(context.params.ruc ?? '');
    const contract = isCompany(ruc) ? null : requireContract(caller);
    // Before the query and never after: see api/catalogue.ts.
    const before = await catalogue.served('padron_reducido');
    const row = await findRow(ruc);
    const served = row === null ? before : await catalogue.servedFor(before, row.version);
    if (contract !== null) {
      const { accountId, tokenId } = caller;
      const { requestId } = context.state;
      await recordAnswer({ accountId, tokenId, contract, ruc, route, requestId }).catch((error: unknown) => {
        throw storeUnavailable(error);
      });
    }
    if (row === null || row.isDeleted) throw notInRegister(ruc, served);
    const data = taxpayerRecordOf(ruc, row.cells);
    const meta = metaOf(served);
    if (contract === null) return answerRevalidated(context, served, data, meta);
    if (data.direccion === null) meta.direccion_motivo = 'no_publicada_persona_natural';
    answerPrivately(context, 200, data, meta);
  });
}

/**
 * The daily register's row of a RUC, deleted or not; null only when the store answered and holds the register: a store that lost its rows
 * must not say of every RUC that it does not exist.
 */
function makeFindRow(taxpayers: Taxpayers): (ruc: string) => Promise<StoredRow | null> {
  // Only a yes is kept: a no is an error, asked again by the next request.
  const checkHeld = async (code: number) => {
    if (!(await taxpayers.holdsRegister(code)))
      throw new Error('ClickHouse holds no row of a register that the catalogue calls materialised');
  };
  const held = makeLastKnown(checkHeld, heldLimits);
  return async (ruc) => {
    try {
      for (const row of await taxpayers.find(ruc)) if (row.register === padronReducido.code) return row;
      await held.get(padronReducido.code);
      return null;
    } catch (error) {
      throw storeUnavailable(error);
    }
  };
}

const heldLimits = { freshMs: 5_000, servesMs: 5_000, loadTimeoutMs: 2_000, retryAfterMs: 0, maxEntries: 10 };

function notInRegister(ruc: string, { edition }: ServedRegister): ApiProblem {
  const detail = `El RUC ${maskRuc(ruc)} no figura en la edición del ${edition.fechaDato}.`;
  const meta = { origen: padronReducido.title, fecha_dato: edition.fechaDato };
  return new ApiProblem('ruc_no_encontrado', detail, { encontrado: false, meta });
}

function metaOf(served: ServedRegister): TaxpayerMeta {
  return {
    origen: padronReducido.title,
    fecha_dato: served.edition.fechaDato,
    // The two lists behind es_agente_retencion and es_buen_contribuyente are not loaded yet.
    fecha_padrones: { agentes_retencion: null, buenos_contribuyentes: null },
    fuentes: [served.source],
  };
}
