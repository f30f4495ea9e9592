import type { BatchEntry } from '../../schemas/http/batch.ts';
import { checkRuc, isCompany } from '../../schemas/ruc.ts';
import { contractRequired, rucProblem } from '../checks.ts';
import type { FoundRecord } from './record.ts';

/** A checked batch whose RUCs are not looked up yet. */
export interface BatchPlan {
  /** One item per RUC of the input, in its order and with repeats: the RUC to look up, or the entry that refuses it. */
  entries: readonly (string | BatchEntry)[];
  /** The distinct RUCs to look up. */
  wanted: readonly string[];
  /** The RUCs in `wanted` that belong to natural persons. */
  persons: readonly string[];
}

/** Checks each RUC alone, so a RUC that is wrong or needs a contract does not stop the look-up of the others. */
export function planBatch(texts: readonly string[], hasContract: boolean): BatchPlan {
  const entries = texts.map((text) => refusalOf(text, hasContract) ?? text);
  const wanted = [...new Set(entries.filter((entry) => typeof entry === 'string'))];
  return { entries, wanted, persons: wanted.filter((ruc) => !isCompany(ruc)) };
}

function refusalOf(ruc: string, hasContract: boolean): BatchEntry | null {
  const check = checkRuc(ruc);
  if (!check.ok) {
    const codigo = check.problem === 'check_digit' ? 'ruc_digito_verificador' : 'ruc_formato';
    return { ruc, encontrado: null, codigo, mensaje: rucProblem(ruc, check).message };
  }
  if (hasContract || isCompany(ruc)) return null;
  return { ruc, encontrado: null, codigo: 'contrato_requerido', mensaje: contractRequired().message };
}

/** Makes the answer's entries. @param found the result of the look-up for each RUC in `plan.wanted` */
export function batchEntries(plan: BatchPlan, found: ReadonlyMap<string, FoundRecord>): BatchEntry[] {
  return plan.entries.map((entry) => (typeof entry === 'string' ? entryOf(entry, found.get(entry)!) : entry));
}

function entryOf(ruc: string, found: FoundRecord): BatchEntry {
  if (!found.isFound) return { ruc, encontrado: false, codigo: 'ruc_no_encontrado' };
  const { data, sources } = found;
  const meta: Extract<BatchEntry, { encontrado: true }>['meta'] = { fecha_dato: sources.meta.fecha_dato };
  if (!isCompany(ruc) && data.direccion === null) meta.direccion_motivo = 'no_publicada_persona_natural';
  return { ruc, encontrado: true, data, meta };
}
