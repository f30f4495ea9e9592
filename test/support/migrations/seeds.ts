import { createClient } from '@clickhouse/client';
import pg from 'pg';

// Rows that some migration moves to another place. They are written just before its statement, each time the same ones.

/** An account with a contract in its own columns, which become a row of data_contract. Returns whether it is new. */
export async function seedPostgres(databaseUrl: string, query: string): Promise<boolean> {
  if (!query.includes('INSERT INTO data_contract')) return false;
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  const { rowCount } =
    await client.query(`INSERT INTO account (name, plan, contract_reference, contract_from, contract_until)
    SELECT 'Cuenta', 'free', 'CTD-1', '2026-01-01', '2026-12-31' WHERE NOT EXISTS (SELECT FROM account)`);
  await client.end();
  return rowCount === 1;
}

/** Two names of companies, one of them with a later row. */
export async function seedClickhouse(clickhouseUrl: string, statement: string): Promise<void> {
  if (!statement.includes('INSERT INTO ranked_name')) return;
  const client = createClient({ url: clickhouseUrl });
  const row = { form: 'SA', words: '', enie: '', standing: 0, estado: 'ACTIVO', condicion: 'HABIDO', ubigeo: '150101' };
  const names = [
    { ...row, name: 'UNO', ruc: '20990000019', version: '1', is_deleted: 0, length: 3 },
    { ...row, name: 'UNO', ruc: '20990000019', version: '2', is_deleted: 0, length: 3 },
    { ...row, name: 'DOS MAS', ruc: '20990000027', version: '1', is_deleted: 0, length: 7 },
  ];
  await client.insert({ table: 'company_name', format: 'JSONEachRow', values: names });
  await client.close();
}
