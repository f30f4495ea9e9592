import { expect, test } from 'vitest';
import type { ServedRegisters } from '../../../../api/catalogue.ts';
import { makeFindRecord } from '../../../../api/queries/current-rows.ts';
import type { StoredRow } from '../../../../api/queries/look-up.ts';
import { type RegisterName, registers } from '../../../../schemas/registers.ts';
import { servedRegister } from '../../../support/api/served-catalogue.ts';
import { monthlyCells, ubigeos } from '../../../support/api/taxpayer-records.ts';

const ruc = '20990000019';
const all = ['padron_reducido', 'padron_mensual', 'agentes_retencion', 'buenos_contribuyentes'] as const;

function row(register: RegisterName, cells: readonly string[], version = 1): StoredRow {
  return { register: registers[register].code, version, isDeleted: false, cells };
}

const daily = row('padron_reducido', ['X', 'ACTIVO', 'HABIDO', '150122']);
const left = (register: RegisterName, version: number) => ({ ...row(register, [], version), isDeleted: true });

/**
 * Looks `ruc` up when these registers are served and the store has these rows of it, and some row of each in `held`.
 */
function makeHarness(loaded: readonly RegisterName[], rows: readonly StoredRow[], held: readonly RegisterName[] = all) {
  const asked: string[] = [];
  const harness = { asked, unknownUbigeos: 0, failure: null as Error | null };
  const find = makeFindRecord({
    catalogue: {
      async snapshot() {
        asked.push('catalogue');
        return Object.fromEntries(loaded.map((name) => [name, servedRegister(name)])) as ServedRegisters;
      },
      edition: async (register, number) => servedRegister(register, number),
    },
    taxpayers: {
      async find() {
        asked.push('rows');
        if (harness.failure !== null) throw harness.failure;
        return rows;
      },
      findMany: async () => [],
      anyKeyOf: async (code) => (held.some((name) => registers[name].code === code) ? '20990000019' : null),
    },
    ubigeos,
    countUnknownUbigeo: () => {
      harness.unknownUbigeos += 1;
    },
  });
  return {
    harness,
    find: () => find(ruc),
    async found() {
      const answer = await find(ruc);
      if (!answer.isFound) throw new Error('not found');
      return answer;
    },
  };
}

test('the catalogue is read before the rows, never after', async () => {
  const { harness, find } = makeHarness(all, [daily]);
  await find();
  expect(harness.asked).toEqual(['catalogue', 'rows']);
});

test('the daily register was never loaded: no answer, whatever the lists hold', async () => {
  const { find } = makeHarness(['agentes_retencion'], [row('agentes_retencion', [])]);
  await expect(find()).rejects.toMatchObject({ code: 'padron_no_disponible' });
});

// A store that is slow, down or empty must never cause the answer "not found".
test('a store that does not answer, or lost the daily register, is unavailable', async () => {
  const slow = makeHarness(all, []);
  slow.harness.failure = new Error('Timeout error.');
  await expect(slow.find()).rejects.toMatchObject({ code: 'servicio_no_disponible' });
  await expect(makeHarness(all, [], []).find()).rejects.toMatchObject({ code: 'servicio_no_disponible' });
});

test('who is not in the daily register is not found, though a list names it and another list is lost', async () => {
  const { find } = makeHarness(all, [row('agentes_retencion', [])], ['padron_reducido']);
  expect(await find()).toMatchObject({ isFound: false, daily: { edition: { number: 1 } } });
});

test.each(['padron_mensual', 'agentes_retencion', 'buenos_contribuyentes'] as const)(
  'a store that lost %s does not say that the RUC is not in it',
  async (lost) => {
    const held = all.filter((name) => name !== lost);
    await expect(makeHarness(all, [daily], held).find()).rejects.toMatchObject({ code: 'servicio_no_disponible' });
  },
);

test('a register that is not loaded yet says nothing, though its rows are already coming', async () => {
  const rows = [daily, row('agentes_retencion', []), row('padron_mensual', monthlyCells({ tipo: 'ASOCIACION' }))];
  const { data, sources } = await makeHarness(['padron_reducido'], rows, ['padron_reducido']).found();
  expect([data.es_agente_retencion, data.es_buen_contribuyente, data.tipo_contribuyente]).toEqual([null, null, null]);
  expect(sources.meta.fuentes.map(({ registro }) => registro)).toEqual(['padron_reducido']);
});

test('a row of a later edition is dated by it, one that left as well; the others keep their own date', async () => {
  const rows = [daily, row('padron_mensual', monthlyCells({}), 1), left('agentes_retencion', 3)];
  const { data, sources } = await makeHarness(all, rows).found();
  expect([data.es_agente_retencion, data.es_buen_contribuyente]).toEqual([false, false]);
  expect(sources.meta.fecha_dato).toBe('2026-11-01');
  expect(sources.meta.fecha_padrones).toEqual({ agentes_retencion: '2026-11-03', buenos_contribuyentes: '2026-11-01' });
  expect([sources.tag, sources.modifiedAt]).toEqual(['1.1.3.1', new Date('2026-11-03T00:00:00Z')]);
});

test('one that left the daily register is dated by the edition it left with', async () => {
  const { find } = makeHarness(all, [left('padron_reducido', 2)]);
  expect(await find()).toMatchObject({ isFound: false, daily: { edition: { fechaDato: '2026-11-02' } } });
});

test('one that left the monthly register has no fields of it', async () => {
  const { data } = await makeHarness(all, [daily, left('padron_mensual', 2)]).found();
  expect(data).toMatchObject({ tipo_contribuyente: null, nro_trabajadores: null });
});

test('only a code that the catalogue does not know is counted', async () => {
  for (const [ubigeo, counted] of [
    ['150122', 0],
    ['-', 0],
    ['999999', 1],
  ] as const) {
    const { harness, find } = makeHarness(all, [row('padron_reducido', ['X', 'ACTIVO', 'HABIDO', ubigeo])]);
    await find();
    expect([ubigeo, harness.unknownUbigeos]).toEqual([ubigeo, counted]);
  }
});
