import type { BatchEntry } from '../../schemas/http/batch.ts';
import { checkRuc, isCompany } from '../../schemas/ruc.ts';
import { contractRequired, rucProblem } from '../checks.ts';
import type { FoundRecord } from './record.ts';

/** A batch before anything is looked up. */
export interface BatchPlan {
  /** In the order of the input, with repeats: the RUC to look up, or the entry that refuses it. */
  entries: readonly (string | BatchEntry)[];
  /** The distinct RUCs to look up. */
  wanted: readonly string[];
  /** The natural persons among them. */
  persons: readonly string[];
}

/** Judges each RUC alone: the others are looked up even when one is wrong or needs a contract. */
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

/** The entries of the answer. @param found the result of each wanted RUC */
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
