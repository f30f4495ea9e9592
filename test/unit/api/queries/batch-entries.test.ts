import { expect, test } from 'vitest';
import type { ServedRegister } from '../../../../api/catalogue.ts';
import { batchEntries, planBatch } from '../../../../api/queries/batch-entries.ts';
import type { FoundRecord } from '../../../../api/queries/record.ts';
import { batchEntry } from '../../../../schemas/http/batch.ts';
import { recordOf } from '../../../support/api/taxpayer-records.ts';

const company = '20990000019';
const other = '20990000043';
const person = '10990000013';

function found(ruc: string, fechaDato: string): FoundRecord {
  const meta = {
    origen: '',
    fecha_dato: fechaDato,
    fecha_padrones: { agentes_retencion: null, buenos_contribuyentes: null },
  };
  const sources = { meta: { ...meta, fuentes: [] }, tag: '', modifiedAt: null };
  const data = recordOf(`${ruc}|X|ACTIVO|HABIDO|-|-|-|-|-|-|-|-|-|-|-|`);
  return { isFound: true, daily: {} as ServedRegister, data, sources };
}
const missing: FoundRecord = { isFound: false, daily: {} as ServedRegister };

test('each entry is judged on its own: what is wrong does not keep the rest from being looked up', () => {
  const plan = planBatch([company, '123', '20990000018', person, company, '１0990000013', other], false);
  expect(plan.wanted).toEqual([company, other]);
  expect(plan.persons).toEqual([]);
  const entries = batchEntries(
    plan,
    new Map([
      [company, found(company, '2026-11-26')],
      [other, missing],
    ]),
  );
  for (const entry of entries) batchEntry.parse(entry);
  expect(entries.map((entry) => [entry.ruc, entry.encontrado, 'codigo' in entry ? entry.codigo : null])).toEqual([
    [company, true, null],
    ['123', null, 'ruc_formato'],
    ['20990000018', null, 'ruc_digito_verificador'],
    [person, null, 'contrato_requerido'],
    [company, true, null],
    ['１0990000013', null, 'ruc_formato'],
    [other, false, 'ruc_no_encontrado'],
  ]);
  expect(entries[2]).toMatchObject({ mensaje: expect.stringContaining('debería ser 9') });
});

// The answer distinguishes RUCs that were not looked up from RUCs that do not exist.
test('with a contract natural persons are looked up, and why there is no address is told', () => {
  const plan = planBatch([person, company, person], true);
  expect([plan.wanted, plan.persons]).toEqual([[person, company], [person]]);
  const entries = batchEntries(
    plan,
    new Map([
      [person, found(person, '2026-11-26')],
      [company, found(company, '2026-11-27')],
    ]),
  );
  expect(entries.map((entry) => ('meta' in entry ? entry.meta : null))).toEqual([
    { fecha_dato: '2026-11-26', direccion_motivo: 'no_publicada_persona_natural' },
    { fecha_dato: '2026-11-27' },
    { fecha_dato: '2026-11-26', direccion_motivo: 'no_publicada_persona_natural' },
  ]);
});
