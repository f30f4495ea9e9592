import { maxLists } from '../../pipelines/watch/lists.ts';
import { maxBatchRucs } from '../../schemas/http/batch.ts';
import { limaTime } from '../../schemas/lima-time.ts';
import { readAccount } from '../accounts/accounts.ts';
import type { Caller } from '../accounts/callers.ts';
import { registerMeta } from '../catalogue.ts';
import type { ApiDependencies } from '../dependencies.ts';
import { readUse } from '../metering/ledger.ts';
import { monthOf } from '../metering/minute-limits.ts';
import { createLink } from '../pages/sessions/links.ts';
import { notFound } from '../problems.ts';
import { callerOf } from '../request.ts';
import type { Handlers } from '../router.ts';
import { maxWatchedRucs } from './lists.ts';
import { maxWebhooks } from './webhooks.ts';

/** Reads what the caller's account may use and has used. @throws ApiProblem recurso_no_encontrado */
export async function readSummary({ pool, now }: Pick<ApiDependencies, 'pool' | 'now'>, caller: Caller) {
  const month = monthOf(now().getTime());
  const [account, use] = await Promise.all([
    readAccount(pool, caller.accountId),
    readUse(pool, caller.accountId, month.firstDay),
  ]);
  if (account === null || use === null) throw notFound('La cuenta');
  const { plan, contract } = account;
  const summary = {
    plan,
    cuota: {
      limite: use.limit,
      usada: use.used,
      // The balance may be negative, because units that a process of the last release spent are subtracted later
      // (`addUpLapsedLeases` in api/expired.ts).
      saldo_prepago: Math.max(0, use.prepaid),
      reinicia_en: limaTime(new Date(month.endsAtMs)),
    },
    contrato_datos:
      contract === null ? null : { referencia: contract.reference, desde: contract.from, hasta: contract.until },
    limites: {
      solicitudes_por_minuto: caller.requestsPerMinute,
      rucs_por_lote: maxBatchRucs,
      listas: maxLists,
      webhooks: maxWebhooks,
      rucs_vigilados: maxWatchedRucs,
    },
  };
  return { account, summary };
}

export function makeAccountHandlers({ catalogue, pool, now, baseUrl }: ApiDependencies) {
  return {
    async verCuenta(_, context) {
      const [{ summary }, meta] = await Promise.all([
        readSummary({ pool, now }, callerOf(context)),
        registerMeta(catalogue),
      ]);
      return { data: summary, meta };
    },

    async crearEnlace({ body: { permisos, para, horas } }, context) {
      const { accountId, tokenId } = callerOf(context);
      const meta = await registerMeta(catalogue);
      const link = { accountId, tokenId, capabilities: permisos, name: para ?? null, hours: horas };
      const made = await createLink(pool, link);
      if (made === null) throw notFound('La cuenta');
      const data = {
        id: made.id,
        enlace: `${baseUrl}${made.path}`,
        permisos: [...made.capabilities],
        vence_en: limaTime(made.expiresAt),
      };
      return { data, meta };
    },
  } satisfies Partial<Handlers>;
}
