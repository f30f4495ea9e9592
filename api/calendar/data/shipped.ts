import {
  type CalendarData,
  type Decree,
  type DueDatesByGroup,
  dueDateGroups,
  type Holiday,
  type PublishedTable,
} from '../types.ts';

const name = 'Día no laborable para el sector público';

function national(decree: string, dates: readonly string[], completesYear: number | null): Decree {
  return {
    decree,
    scope: 'national',
    taxBusinessDays: true,
    days: dates.map((date) => ({ date, name })),
    completesYear,
  };
}

/**
 * The decrees of national non-working days, from the official gazette. Some decrees of 2020 and 2021 are missing. 14 to
 * 16 November 2024 are left out, because they were non-working days only in Lima and Callao.
 */
const decrees: readonly Decree[] = [
  national('D.S. 197-2019-PCM, modificado por D.S. 125-2020-PCM', ['2020-10-09', '2020-12-31'], null),
  national(
    'D.S. 161-2021-PCM',
    ['2021-10-11', '2021-11-02', '2021-12-24', '2021-12-27', '2021-12-31', '2022-01-03'],
    null,
  ),
  national(
    'D.S. 033-2022-PCM',
    ['2022-05-02', '2022-06-24', '2022-08-29', '2022-10-07', '2022-10-31', '2022-12-26', '2022-12-30'],
    2022,
  ),
  national(
    'D.S. 151-2022-PCM',
    ['2023-01-02', '2023-04-28', '2023-06-30', '2023-07-27', '2023-10-09', '2023-12-07', '2023-12-26', '2024-01-02'],
    2023,
  ),
  national(
    'D.S. 011-2024-PCM',
    ['2024-07-26', '2024-10-07', '2024-12-06', '2024-12-23', '2024-12-24', '2024-12-30', '2024-12-31'],
    null,
  ),
  national('D.S. 066-2024-PCM', ['2024-07-27'], 2024),
  national('D.S. 042-2025-PCM', ['2025-05-02', '2025-12-26', '2026-01-02'], 2025),
  national('D.S. 075-2026-PCM', ['2026-07-27'], 2026),
];

const decreeLaw = 'D. Leg. 713, art. 6';

/** Makes a holiday of Decreto Legislativo 713 of November 1991. Its holidays apply from 1992 on. */
function of1991(name: string, on: Holiday['on'], exceptions: Holiday['exceptions'] = []): Holiday {
  return { name, law: decreeLaw, on, firstYear: 1992, lastYear: null, exceptions };
}

function since(firstYear: number, name: string, law: string, month: number, day: number): Holiday {
  return { name, law, on: { month, day }, firstYear, lastYear: null, exceptions: [] };
}

/**
 * The national statutory holidays; since 2024 there are 16. Easter Sunday is left out, because no law names it. For a
 * holiday that a law ends, set `lastYear`. For a holiday that is cancelled in one year, add an exception.
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

/** The due dates of one period as MM-DD, one for each group, in the order of `dueDateGroups`. */
type Row = readonly [string, string, string, string, string, string, string];

function table(year: number, source: string, rows: readonly Row[]): PublishedTable {
  const periods = rows.map((row, index): [string, DueDatesByGroup] => {
    const dueYear = index === 11 ? year + 1 : year;
    const dates = dueDateGroups.map((group, column) => [group, `${dueYear}-${row[column]!}`]);
    return [`${year}-${String(index + 1).padStart(2, '0')}`, Object.fromEntries(dates) as DueDatesByGroup];
  });
  return { year, source, periods: Object.fromEntries(periods) };
}

/** The due dates that the tax authority published. They follow the rule in Anexo I of R.S. 000281-2022/SUNAT. */
const tables: readonly PublishedTable[] = [
  table(2025, 'SUNAT - Cronograma de obligaciones mensuales 2025', [
    ['02-17', '02-18', '02-19', '02-20', '02-21', '02-24', '02-25'],
    ['03-17', '03-18', '03-19', '03-20', '03-21', '03-24', '03-25'],
    ['04-15', '04-16', '04-21', '04-22', '04-23', '04-24', '04-25'],
    ['05-16', '05-19', '05-20', '05-21', '05-22', '05-23', '05-26'],
    ['06-16', '06-17', '06-18', '06-19', '06-20', '06-23', '06-24'],
    ['07-15', '07-16', '07-17', '07-18', '07-21', '07-22', '07-24'],
    ['08-18', '08-19', '08-20', '08-21', '08-22', '08-25', '08-26'],
    ['09-15', '09-16', '09-17', '09-18', '09-19', '09-22', '09-23'],
    ['10-16', '10-17', '10-20', '10-21', '10-22', '10-23', '10-24'],
    ['11-17', '11-18', '11-19', '11-20', '11-21', '11-24', '11-25'],
    ['12-17', '12-18', '12-19', '12-22', '12-23', '12-24', '12-26'],
    ['01-16', '01-19', '01-20', '01-21', '01-22', '01-23', '01-26'],
  ]),
  table(2026, 'SUNAT - Cronograma de obligaciones mensuales 2026', [
    ['02-16', '02-17', '02-18', '02-19', '02-20', '02-23', '02-24'],
    ['03-16', '03-17', '03-18', '03-19', '03-20', '03-23', '03-24'],
    ['04-17', '04-20', '04-21', '04-22', '04-23', '04-24', '04-27'],
    ['05-18', '05-19', '05-20', '05-21', '05-22', '05-25', '05-26'],
    ['06-15', '06-16', '06-17', '06-18', '06-19', '06-22', '06-23'],
    ['07-15', '07-16', '07-17', '07-20', '07-21', '07-22', '07-24'],
    ['08-18', '08-19', '08-20', '08-21', '08-24', '08-25', '08-26'],
    ['09-15', '09-16', '09-17', '09-18', '09-21', '09-22', '09-23'],
    ['10-16', '10-19', '10-20', '10-21', '10-22', '10-23', '10-26'],
    ['11-16', '11-17', '11-18', '11-19', '11-20', '11-23', '11-24'],
    ['12-17', '12-18', '12-21', '12-22', '12-23', '12-24', '12-28'],
    ['01-18', '01-19', '01-20', '01-21', '01-22', '01-25', '01-26'],
  ]),
];

/**
 * The calendar data of this release, to which store.ts adds what operators load. Whoever changes `decrees` or `tables`
 * here must set the time of the change in `updatedAt`.
 */
export const shippedCalendar: CalendarData = {
  holidays,
  decrees,
  tables,
  updatedAt: { decrees: '2026-11-27T00:00:00-05:00', tables: '2026-11-27T00:00:00-05:00' },
};
