import { randomUUID } from 'node:crypto';
import type { Pool } from '../../pipelines/runtime/postgres.ts';
import { listsHolding } from '../../pipelines/watch/lists.ts';
import { type SupplierMeta, supplierQuery } from '../../schemas/http/supplier.ts';
import { limaDay, limaTime } from '../../schemas/lima-time.ts';
import { isCompany } from '../../schemas/ruc.ts';
import type { Identify } from '../accounts/callers.ts';
import { answerBytes, successBody } from '../answers.ts';
import { toDate, toDayNumber } from '../calendar/days.ts';
import { charge, metered, reserve } from '../metering/middleware.ts';
import type { Meter } from '../metering/types.ts';
import { ApiProblem, notFound, storeUnavailable } from '../problems.ts';
import {
  type ApiContext,
  type ApiRouter,
  access,
  callerOf,
  parseInput,
  refuseQuery,
  requireContract,
  requireRuc,
} from '../request.ts';
import type { SupplierThresholds } from '../supplier/bars.ts';
import { type FindSupplier, supplierCheckOf } from '../supplier/check.ts';
import { keepCheck, readCheck } from '../supplier/evidence.ts';
import type { FindRecentChanges } from '../supplier/recent-changes.ts';
import { requireDay } from './calendar-input.ts';
import { getOnly } from './event-stream.ts';
import { notInRegister } from './taxpayer.ts';

export interface SupplierParts {
  identify: Identify;
  meter: Meter;
  pool: Pool;
  findSupplier: FindSupplier;
  findRecentChanges: FindRecentChanges;
  supplierThresholds: SupplierThresholds;
  now(): Date;
}

const checkPath = '/id/v1/proveedor/:ruc';
const evidencePath = '/id/v1/proveedor/consultas/:consulta_id';

/** GET /id/v1/proveedor/{ruc}: the supplier check, each answer kept as evidence, and GET …/consultas/{consulta_id}: that evidence. */
export function registerSupplierRoutes(router: ApiRouter, parts: SupplierParts): void {
  const { identify, meter, pool } = parts;

  getOnly(router, checkPath, access(identify, 'free'), metered(meter), async (context) => {
    const { inhabilitado_al } = parseInput(supplierQuery, context.query);
    const ruc = requireSupplier(context);
    const givenDay = inhabilitado_al === undefined ? null : requireDay(inhabilitado_al, 'inhabilitado_al');
    await reserve(context, meter, 1);
    const id = randomUUID();
    const { accountId } = callerOf(context);
    const answer = await check({ ruc, givenDay, accountId, id }, parts);
    await keepCheck(pool, { id, accountId, answer }).catch(unavailable);
    charge(context);
    answerBytes(context, 200, answer);
  });

  router.get(evidencePath, access(identify, 'free'), async (context) => {
    refuseQuery(context);
    // Databases that keep ids of this kind as such give them back in capitals.
    const id = (context.params.consulta_id ?? '').toLowerCase();
    const isUuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(id);
    const answer = isUuid ? await readCheck(pool, callerOf(context).accountId, id).catch(unavailable) : null;
    if (answer === null) throw notFound('La consulta');
    answerBytes(context, 200, answer);
  });
}

interface Asked {
  ruc: string;
  givenDay: string | null;
  accountId: number;
  id: string;
}

/** The answer's body. @throws ApiProblem ruc_no_encontrado, padron_no_disponible, servicio_no_disponible */
async function check({ ruc, givenDay, accountId, id }: Asked, parts: SupplierParts): Promise<string> {
  const { supplierThresholds: thresholds } = parts;
  const now = parts.now();
  const today = limaDay(now);
  const since = toDate(toDayNumber(today) - thresholds.recentChangeDays);
  // All three at once; a RUC that is not there makes the other two useless and harmless.
  const [found, changes, lists] = await Promise.all([
    parts.findSupplier(ruc),
    parts.findRecentChanges(ruc, since),
    listsHolding(parts.pool, accountId, ruc).catch(unavailable),
  ]);
  const { record } = found;
  if (!record.isFound) throw notInRegister(ruc, record.daily);
  const data = supplierCheckOf({ ...found, record: record.data, changes, lists, today, givenDay }, thresholds);
  const meta: SupplierMeta = { ...record.sources.meta, consulta_id: id, consultado_en: limaTime(now) };
  return successBody(data, meta);
}

/** @throws ApiProblem ruc_formato, ruc_digito_verificador, contrato_requerido before solo_empresas for a natural person's */
function requireSupplier(context: ApiContext): string {
  const ruc = requireRuc(context.params.ruc ?? '');
  if (isCompany(ruc)) return ruc;
  requireContract(callerOf(context));
  throw new ApiProblem('solo_empresas', 'La consulta de proveedor es solo para empresas (RUC que empieza con 20).');
}

function unavailable(error: unknown): never {
  throw storeUnavailable(error);
}
