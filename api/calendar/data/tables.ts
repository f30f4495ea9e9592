import { type DueDatesByGroup, dueDateGroups, type PublishedTable } from '../types.ts';

/** Month and day of each group, in the order of `dueDateGroups`; the twelve periods from January on. */
type Row = readonly [string, string, string, string, string, string, string];

function table(year: number, source: string, rows: readonly Row[]): PublishedTable {
  const periods = rows.map((row, index): [string, DueDatesByGroup] => {
    const dueYear = index === 11 ? year + 1 : year;
    const dates = dueDateGroups.map((group, column) => [group, `${dueYear}-${row[column]!}`]);
    return [`${year}-${String(index + 1).padStart(2, '0')}`, Object.fromEntries(dates) as DueDatesByGroup];
  });
  return { year, source, periods: Object.fromEntries(periods) };
}

/** The tax authority's published schedules (Anexo I of R.S. 000281-2022/SUNAT, resolved into dates). */
export const tables: readonly PublishedTable[] = [
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
