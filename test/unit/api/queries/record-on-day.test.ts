import { expect, test } from 'vitest';
import type { ServedRegisters } from '../../../../api/catalogue.ts';
import { makeFindRecordOnDay } from '../../../../api/queries/record-on-day.ts';
import type { EarlierRow } from '../../../../api/queries/register-changes.ts';
import { padronReducido, registers } from '../../../../schemas/registers.ts';
import { servedRegister } from '../../../support/api/served-catalogue.ts';
import { ubigeos } from '../../../support/api/taxpayer-records.ts';

const ruc = '20990000019';
const day = '2026-11-03';
const cells = (estado: string) => padronReducido.columns.map(({ name }) => (name === 'estado' ? estado : '-'));

/**
 * Edition 5 wrote the RUC's current row, and the request is for edition 3. `histories` holds the result of each reading
 * of the history, `columns` the columns of edition 3.
 */
function makeHarness(
  histories: readonly (readonly EarlierRow[])[],
  options: { columns?: readonly string[]; loaded?: ServedRegisters; firstDay?: string | null } = {},
) {
  const { loaded = { padron_reducido: servedRegister('padron_reducido', 3) }, firstDay = null } = options;
  const today = padronReducido.columns.map(({ name }) => name);
  const asked: string[] = [];
  let reading = 0;
  const find = makeFindRecordOnDay({
    past: {
      on: async () => {
        asked.push('editions');
        return loaded;
      },
      firstDay: async () => firstDay,
      facts: async () => (register, number) => ({
        register,
        number,
        fechaDato: day,
        corrects: null,
        columns: number === 3 ? (options.columns ?? today) : today,
        isFull: false,
      }),
    },
    taxpayers: {
      async find() {
        asked.push('state');
        const { code } = registers.padron_reducido;
        return [{ register: code, version: 5, isDeleted: false, cells: cells('BAJA DE OFICIO') }];
      },
      findMany: async () => [],
      anyKeyOf: async () => ruc,
    },
    changes: {
      async earlierRows() {
        asked.push('history');
        return histories[reading++] ?? [];
      },
      keys: async () => [],
      read: async () => [],
    },
    ubigeos,
    countUnknownUbigeo: () => {},
  });
  return { asked, find: () => find(ruc, day) };
}

const change: EarlierRow = { register: 'padron_reducido', edition: 5, before: cells('ACTIVO') };

test('editions, then the state, then the history: each is never ahead of the next', async () => {
  const { asked, find } = makeHarness([[change]]);
  expect(await find()).toMatchObject({ isFound: true, data: { estado: 'ACTIVO' } });
  expect(asked).toEqual(['editions', 'state', 'history']);
});

test('a change that is not there yet is looked for once more, then it is no answer', async () => {
  const late = makeHarness([[], [change]]);
  expect(await late.find()).toMatchObject({ isFound: true, data: { estado: 'ACTIVO' } });
  const lost = makeHarness([[], [], [change]]);
  await expect(lost.find()).rejects.toMatchObject({ code: 'servicio_no_disponible' });
  expect(lost.asked.filter((what) => what === 'history')).toHaveLength(2);
});

test('a column that the edition of the day did not have is not told', async () => {
  const before = padronReducido.columns.map(({ name }) => (name === 'ubigeo' ? '150122' : 'X'));
  const columns = ['nombre', 'estado', 'condicion'];
  const found = await makeHarness([[{ ...change, before }]], { columns }).find();
  expect(found).toMatchObject({ isFound: true, data: { nombre: 'X', ubigeo: null, distrito: null, direccion: null } });
});

test('a day before the first edition names that; a register that was never loaded has no days', async () => {
  const early = makeHarness([], { loaded: {}, firstDay: '2026-11-20' });
  await expect(early.find()).rejects.toMatchObject({
    code: 'fecha_sin_datos',
    extensions: { meta: { origen: padronReducido.title, primera_fecha: '2026-11-20' } },
  });
  await expect(makeHarness([], { loaded: {} }).find()).rejects.toMatchObject({ code: 'padron_no_disponible' });
});
