import { readFileSync } from 'node:fs';
import { type TaxpayerRows, taxpayerRecordOf } from '../../../api/queries/record.ts';
import type { TaxpayerRecord } from '../../../schemas/http/taxpayer.ts';
import { padronMensual, padronReducido } from '../../../schemas/registers.ts';
import { readUbigeoCatalogue, ubigeoListUrl } from '../../../schemas/ubigeo.ts';

export const ubigeos = readUbigeoCatalogue(readFileSync(ubigeoListUrl, 'utf8'));

/** The record of a line in the daily register's format, with the rows of other registers for its RUC. */
export function recordOf(line: string, others: Partial<TaxpayerRows> = {}): TaxpayerRecord {
  const [ruc, ...cells] = line.split('|');
  const rows: TaxpayerRows = {
    padron_reducido: cells.slice(0, padronReducido.columns.length),
    padron_mensual: null,
    agentes_retencion: null,
    buenos_contribuyentes: null,
    ...others,
  };
  return taxpayerRecordOf(ruc!, rows, ubigeos);
}

type MonthlyColumn = (typeof padronMensual.columns)[number]['name'];

/** Cells of the monthly register, NO DISPONIBLE where none is given. */
export function monthlyCells(given: Partial<Record<MonthlyColumn, string>>): string[] {
  return padronMensual.columns.map(({ name }) => given[name] ?? 'NO DISPONIBLE');
}
