import { expect, test } from 'vitest';
import { makeFindRecentChanges, recentChangesIn } from '../../../../api/supplier/recent-changes.ts';
import type { HistoryEntry } from '../../../../schemas/http/history.ts';

const ruc = '20990000019';

function entry(
  fecha_dato: string,
  campo: string,
  antes: string | null,
  despues: string | null,
  more = {},
): HistoryEntry {
  const base = { registro: 'padron_reducido', operacion: 'cambio', correccion: null } as const;
  return { ...base, fecha_dato, campo, antes, despues, ...more };
}

test('watched values and appearing, from the first day on; other fields, registers and leaving are not reported', () => {
  const reported = recentChangesIn(
    [
      entry('2026-11-26', 'condicion', 'HABIDO', 'NO HABIDO'),
      entry('2026-11-25', 'direccion', null, 'AV. X'),
      entry('2026-11-24', 'estado', 'A', 'B', { registro: 'padron_mensual' }),
      entry('2026-11-23', 'ruc', null, ruc, { operacion: 'alta' }),
      entry('2026-11-22', 'ruc', ruc, null, { operacion: 'baja' }),
      entry('2026-11-20', 'nombre', 'A', 'B'),
      entry('2026-11-19', 'nombre', 'B', 'C'),
    ],
    '2026-11-20',
  );
  expect(reported.map(({ fechaDato, campo }) => [fechaDato, campo])).toEqual([
    ['2026-11-26', 'condicion'],
    ['2026-11-23', 'ruc'],
    ['2026-11-20', 'nombre'],
  ]);
});

test('a correction and what it undid are this service’s, not the taxpayer’s; what it did not undo stays', () => {
  const correccion = { edicion: 7, fecha_dato: '2026-11-25' };
  const reported = recentChangesIn(
    [
      entry('2026-11-26', 'estado', 'BAJA', 'ACTIVO', { correccion }),
      entry('2026-11-25', 'estado', 'ACTIVO', 'BAJA'),
      entry('2026-11-24', 'estado', 'SUSPENSIÓN TEMPORAL', 'ACTIVO'),
    ],
    '2026-11-01',
  );
  expect(reported).toEqual([
    { fechaDato: '2026-11-24', campo: 'estado', antes: 'SUSPENSIÓN TEMPORAL', despues: 'ACTIVO' },
  ]);
});

test('changes are read only where the names of a RUC’s changes say that one is recent', async () => {
  let reads = 0;
  const dates = new Map([
    [1, '2026-01-01'],
    [2, '2026-11-20'],
  ]);
  const find = (editions: number[], register = 'padron_reducido') =>
    makeFindRecentChanges({
      changes: {
        keys: async () => editions.map((edition) => ({ register, edition, operation: 'u' })),
      } as never,
      past: { facts: async () => (_: string, number: number) => ({ fechaDato: dates.get(number) }) } as never,
      findHistory: async () => {
        reads += 1;
        return { isFound: false, daily: {} as never };
      },
    })(ruc, '2026-11-01');
  await find([]);
  await find([1]);
  await find([2], 'padron_mensual');
  expect(reads).toBe(0);
  await find([1, 2]);
  expect(reads).toBe(1);
});
