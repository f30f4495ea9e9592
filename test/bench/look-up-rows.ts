import type { ClickHouseClient } from '../../pipelines/runtime/clickhouse.ts';
import { registers } from '../../schemas/registers.ts';
import { checkDigit } from '../../schemas/ruc.ts';

const chunkRows = 1_000_000;
const weights = [5, 4, 3, 2, 7, 6, 5, 4, 3, 2];

/** The RUC of the company with this number in the generated table. */
export function rucOf(number: number, rows: number): string {
  const firstTen = `20${String(number * Math.floor(1e8 / rows)).padStart(8, '0')}`;
  return `${firstTen}${checkDigit(firstTen)}`;
}

/** The name of the company with this number in the generated table. */
export function nameOf(number: number): string {
  return `COMERCIALIZADORA DE PRUEBA ${number} S.A.C.`;
}

/** The registers in the generated table, for which served editions are inserted too. */
export const loadedRegisters = [
  'padron_reducido',
  'padron_mensual',
  'agentes_retencion',
  'buenos_contribuyentes',
] as const;

/** The cells of a company's row as SQL expressions over its number, in the format and length of the real registers. */
const cells: Record<(typeof loadedRegisters)[number], readonly string[]> = {
  padron_reducido: [
    "concat('COMERCIALIZADORA DE PRUEBA ', toString(number), ' S.A.C.')",
    "if(number % 2 = 0, 'ACTIVO', 'BAJA DE OFICIO')",
    "if(number % 9 = 0, 'NO HABIDO', 'HABIDO')",
    "leftPad(toString(cityHash64(number) % 250000), 6, '0')",
    "'AV.'",
    "concat('CALLE DE PRUEBA ', toString(cityHash64(number, 1) % 9999))",
    "'URB.'",
    "concat('ZONA ', toString(cityHash64(number, 2) % 9999))",
    'toString(number % 999)',
    ...Array(5).fill("'-'"),
  ],
  padron_mensual: [
    "'ACTIVO'",
    "'HABIDO'",
    "if(number % 2 = 0, 'SOCIEDAD ANONIMA CERRADA', 'EMPRESA INDIVIDUAL DE RESPONSABILIDAD LIMITADA')",
    "'NO DISPONIBLE'",
    "'NO DISPONIBLE'",
    "'VENTA AL POR MENOR DE OTROS PRODUCTOS EN COMERCIOS NO ESPECIALIZADOS'",
    "if(number % 9 = 0, toString(number % 50), 'NO DISPONIBLE')",
    "'MANUAL/COMPUTARIZADO'",
    "'COMPUTARIZADO'",
    "'SIN ACTIVIDAD'",
    "leftPad(toString(cityHash64(number) % 250000), 6, '0')",
    "'LIMA'",
    "'LIMA'",
    "'MIRAFLORES'",
  ],
  agentes_retencion: ["'COMERCIALIZADORA DE PRUEBA'", "'2023-10-01'", "'RS R.S.186-2023'"],
  buenos_contribuyentes: ["'COMERCIALIZADORA DE PRUEBA'", "'2012-06-01'", "'RS 0230050312833'"],
};
/** One in so many companies changed in the daily register's second edition, about as many as in a year or two. */
const changedOneOf = 3;
/** One in so many companies is in the register, about as in the real ones. */
const oneOf = { padron_reducido: 1, padron_mensual: 2, agentes_retencion: 330, buenos_contribuyentes: 57 } as const;

/**
 * Fills the packed table inside ClickHouse without the pipeline: `rows` companies with valid check digits, spread
 * evenly over all RUCs that start with 20. Some are also in a record's other registers, and some have changed once. The
 * table is merged to one part, as it is an hour after the last edition (0004_merged_parts.sql).
 */
export async function loadTaxpayers(clickhouse: ClickHouseClient, rows: number): Promise<void> {
  const firstTen = `(2000000000 + number * ${Math.floor(1e8 / rows)})`;
  const sum = weights.map((weight, at) => `intDiv(${firstTen}, ${10 ** (9 - at)}) % 10 * ${weight}`).join(' + ');
  const ruc = `(${firstTen} * 10 + (11 - (${sum}) % 11) % 10)`;
  const runSql = (query: string) =>
    clickhouse.command({ query, clickhouse_settings: { max_threads: 2, wait_end_of_query: 1 } });
  for (const register of loadedRegisters) {
    const row = `concat('["', arrayStringConcat([${cells[register].join(', ')}], '","'), '"]')`;
    for (let start = 0; start < rows; start += chunkRows) {
      const count = Math.min(chunkRows, rows - start);
      const { code } = registers[register];
      const isChanged = `(${code} = ${registers.padron_reducido.code} AND number % ${changedOneOf} = 0)`;
      await runSql(
        `INSERT INTO taxpayer (ruc, register, version, is_deleted, row)
         SELECT ${ruc}, ${code}, if(${isChanged}, 2, 1), 0, ${row}
         FROM numbers(${start}, ${count}) WHERE number % ${oneOf[register]} = 0`,
      );
      await runSql(
        `INSERT INTO register_change (ruc, register, edition, op, before, after, detected_at)
         SELECT ${ruc}, ${code}, 2, 'u', ${row}, ${row}, now64(3) FROM numbers(${start}, ${count}) WHERE ${isChanged}`,
      );
    }
  }
  for (const table of ['taxpayer', 'register_change']) await runSql(`OPTIMIZE TABLE ${table} FINAL`);
}
