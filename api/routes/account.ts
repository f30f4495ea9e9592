import type { Pool } from '../../pipelines/runtime/postgres.ts';
import type { AccountSummary } from '../../schemas/http/account.ts';
import { maxBatchRucs } from '../../schemas/http/batch.ts';
import { limaTime } from '../../schemas/lima-time.ts';
import { type Account, readAccount } from '../accounts/accounts.ts';
import type { Caller, Identify } from '../accounts/callers.ts';
import { answerPrivately } from '../answers.ts';
import type { Catalogue } from '../catalogue.ts';
import { readUse, type Use } from '../metering/ledger.ts';
import { type Month, monthOf } from '../metering/minute-limits.ts';
import { notFound } from '../problems.ts';
import { type ApiRouter, access, callerOf, refuseQuery } from '../request.ts';
import { registerMetaOf } from './access.ts';
import { maxLists, maxWatchedRucs } from './lists.ts';
import { maxWebhooks } from './webhooks.ts';

export interface AccountParts {
  identify: Identify;
  catalogue: Catalogue;
  pool: Pool;
  now(): Date;
}

/** GET and HEAD /id/v1/cuenta: plan, quota, contract and limits of the caller's account. Free. */
export function registerAccountRoutes(router: ApiRouter, { identify, catalogue, pool, now }: AccountParts): void {
  router.get('/id/v1/cuenta', access(identify, 'free'), async (context) => {
    refuseQuery(context);
    const caller = callerOf(context);
    const month = monthOf(now().getTime());
    const [account, use, meta] = await Promise.all([
      readAccount(pool, caller.accountId),
      readUse(pool, caller.accountId, month.firstDay),
      registerMetaOf(catalogue),
    ]);
    if (account === null || use === null) throw notFound('La cuenta');
    answerPrivately(context, 200, summaryOf(account, caller, use, month), meta);
  });
}

function summaryOf({ plan, contract }: Account, caller: Caller, use: Use, month: Month): AccountSummary {
  return {
    plan,
    cuota: {
      limite: use.limit,
      usada: use.used,
      // A late report may leave less than nothing of it.
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
}
