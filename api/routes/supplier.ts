import { randomUUID } from 'node:crypto';
import { listsHolding } from '../../pipelines/watch/lists.ts';
import type { SupplierMeta } from '../../schemas/http/supplier.ts';
import { limaDay, limaTime } from '../../schemas/lima-time.ts';
import { isCompany } from '../../schemas/ruc.ts';
import { successBody } from '../answers.ts';
import { toDate, toDayNumber } from '../calendar/days.ts';
import { requireContract, requireDay, requireRuc } from '../checks.ts';
import type { ApiDependencies } from '../dependencies.ts';
import { ApiProblem, notFound, throwUnavailable } from '../problems.ts';
import { type ApiContext, callerOf } from '../request.ts';
import type { Handlers } from '../router.ts';
import { supplierCheckOf } from '../supplier/check.ts';
import { keepCheck, readCheck } from '../supplier/evidence.ts';
import { notInRegister } from './taxpayer.ts';

/** Handlers that make a supplier check and store its answer as evidence, and that show a stored answer again. */
export function makeSupplierHandlers(dependencies: ApiDependencies) {
  const { meter, pool } = dependencies;
  return {
    async evaluarProveedor({ params, query: { inhabilitado_al } }, context) {
      const ruc = requireSupplier(context, params.ruc);
      const givenDay = inhabilitado_al === undefined ? null : requireDay(inhabilitado_al, 'inhabilitado_al');
      await meter.requireUnits(callerOf(context), 1);
      const id = randomUUID();
      const { accountId } = callerOf(context);
      const answer = await check({ ruc, givenDay, accountId, id }, dependencies);
      // The check is stored before it is charged and sent, so nobody pays for a check, or relies on a check, that
      // cannot be shown again.
      await keepCheck(pool, accountId, id, answer).catch(throwUnavailable);
      await meter.charge(callerOf(context), 1);
      return answer;
    },

    async verConsultaDeProveedor({ params }, context) {
      // A customer may have stored the id in a database that returns UUIDs in capitals.
      const id = params.consulta_id.toLowerCase();
      const isUuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(id);
      const answer = isUuid ? await readCheck(pool, callerOf(context).accountId, id).catch(throwUnavailable) : null;
      if (answer === null) throw notFound('La consulta');
      return answer;
    },
  } satisfies Partial<Handlers>;
}

interface Question {
  ruc: string;
  givenDay: string | null;
  accountId: number;
  id: string;
}

/** Makes the answer's body. @throws ApiProblem ruc_no_encontrado, padron_no_disponible, servicio_no_disponible */
async function check({ ruc, givenDay, accountId, id }: Question, dependencies: ApiDependencies): Promise<string> {
  const { pool, supplierThresholds: thresholds } = dependencies;
  const now = dependencies.now();
  const today = limaDay(now);
  const since = toDate(toDayNumber(today) - thresholds.recentChangeDays);
  // The three reads run at once. When the RUC is not in the register, the last two are useless but harmless.
  const [found, changes, lists] = await Promise.all([
    dependencies.findSupplier(ruc),
    dependencies.findRecentChanges(ruc, since),
    listsHolding(pool, accountId, ruc).catch(throwUnavailable),
  ]);
  const { record } = found;
  if (!record.isFound) throw notInRegister(ruc, record.daily);
  const data = supplierCheckOf({ ...found, record: record.data, changes, lists, today, givenDay }, thresholds);
  const meta: SupplierMeta = { ...record.sources.meta, consulta_id: id, consultado_en: limaTime(now) };
  return successBody(data, meta);
}

/**
 * Returns the RUC when it is a company's.
 * @throws ApiProblem ruc_formato or ruc_digito_verificador for a wrong RUC
 * @throws ApiProblem contrato_requerido for a natural person's RUC from a caller without a contract, solo_empresas from
 *   a caller with a contract
 */
function requireSupplier(context: ApiContext, text: string): string {
  const ruc = requireRuc(text);
  if (isCompany(ruc)) return ruc;
  requireContract(callerOf(context));
  throw new ApiProblem('solo_empresas', 'La consulta de proveedor es solo para empresas (RUC que empieza con 20).');
}
