import { setTimeout as sleep } from 'node:timers/promises';
import type { ClickHouseClient } from '../../deploy/runtime/clickhouse.ts';

const chunkRows = 1_000_000;
const weights = [5, 4, 3, 2, 7, 6, 5, 4, 3, 2];

/** The name of the company that has this number in the generated table. */
export function nameOf(number: number): string {
  return `COMERCIALIZADORA DE PRUEBA ${number} S.A.C.`;
}

/**
 * Fills the packed table inside ClickHouse, without the pipeline: `rows` companies with right check digits, evenly spread
 * over all RUCs that start with 20, rows of the daily register's form and length. Waits until merges are done.
 * Returns the number of parts.
 */
export async function loadTaxpayers(clickhouse: ClickHouseClient, rows: number): Promise<number> {
  const firstTen = `(2000000000 + number * ${Math.floor(1e8 / rows)})`;
  const sum = weights.map((weight, at) => `intDiv(${firstTen}, ${10 ** (9 - at)}) % 10 * ${weight}`).join(' + ');
  const cells = [
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
  ];
  for (let start = 0; start < rows; start += chunkRows) {
    const count = Math.min(chunkRows, rows - start);
    await clickhouse.command({
      query: `INSERT INTO taxpayer SELECT ${firstTen} * 10 + (11 - (${sum}) % 11) % 10, 1, 1, 0,
                concat('["', arrayStringConcat([${cells.join(', ')}], '","'), '"]')
              FROM numbers(${start}, ${count})`,
      clickhouse_settings: { max_threads: 2, wait_end_of_query: 1 },
    });
  }
  while ((await count(clickhouse, 'SELECT count() FROM system.merges')) > 0) await sleep(200);
  return count(clickhouse, "SELECT count() FROM system.parts WHERE table = 'taxpayer' AND active");
}

async function count(clickhouse: ClickHouseClient, query: string): Promise<number> {
  const result = await clickhouse.query({ query, format: 'JSONCompactEachRow' });
  const rows = (await result.json()) as [string | number][];
  return Number(rows[0]![0]);
}
