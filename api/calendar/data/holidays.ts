import type { Holiday } from '../types.ts';

const decreeLaw = 'D. Leg. 713, art. 6';

/** In the list of the Decreto Legislativo of November 1991, so kept from the next year on. */
function of1991(name: string, on: Holiday['on'], exceptions: Holiday['exceptions'] = []): Holiday {
  return { name, law: decreeLaw, on, firstYear: 1992, lastYear: null, exceptions };
}

function since(firstYear: number, name: string, law: string, month: number, day: number): Holiday {
  return { name, law, on: { month, day }, firstYear, lastYear: null, exceptions: [] };
}

/**
 * The national statutory holidays, 16 since 2024. Easter Sunday is not in the law. A law that ends one gives it its last
 * year here; a norm that cancels a single one is an exception.
 */
export const holidays: readonly Holiday[] = [
  of1991('Año Nuevo', { month: 1, day: 1 }),
  of1991('Jueves Santo', { fromEasterDays: -3 }),
  of1991('Viernes Santo', { fromEasterDays: -2 }),
  of1991('Día del Trabajo', { month: 5, day: 1 }),
  since(2024, 'Batalla de Arica y Día de la Bandera', 'Ley 31788', 6, 7),
  of1991('San Pedro y San Pablo', { month: 6, day: 29 }),
  since(2023, 'Día de la Fuerza Aérea del Perú', 'Ley 31822', 7, 23),
  of1991('Fiestas Patrias', { month: 7, day: 28 }),
  of1991('Fiestas Patrias', { month: 7, day: 29 }, [{ year: 2020, norm: 'D.U. 081-2020' }]),
  since(2022, 'Batalla de Junín', 'Ley 31530', 8, 6),
  of1991('Santa Rosa de Lima', { month: 8, day: 30 }),
  of1991('Combate de Angamos', { month: 10, day: 8 }),
  of1991('Todos los Santos', { month: 11, day: 1 }),
  of1991('Inmaculada Concepción', { month: 12, day: 8 }),
  since(2022, 'Batalla de Ayacucho', 'Ley 31381', 12, 9),
  of1991('Navidad del Señor', { month: 12, day: 25 }),
];
