import { createClient } from '@clickhouse/client';
import pg from 'pg';

// What a store's schema is, as sorted lines of text. Two databases with equal lines have the same schema and as many rows.

/** Each query gives one column of lines. Names of objects are without their schema, because all are in `public`. */
const postgresQueries = [
  `SELECT format('%s %s %s %s', CASE relkind WHEN 'r' THEN 'table' WHEN 'p' THEN 'partitioned table' WHEN 'S' THEN 'sequence'
     WHEN 'v' THEN 'view' WHEN 'm' THEN 'materialised view' ELSE relkind::text END, relname, relpersistence,
     array_to_string(reloptions, ',')) AS line
   FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind NOT IN ('i', 'I', 't', 'c')`,
  `SELECT format('column %s.%s %s %s%s%s%s', c.relname, a.attname, a.attnum, format_type(a.atttypid, a.atttypmod),
     CASE WHEN a.attnotnull THEN ' not null' ELSE '' END, ' default ' || pg_get_expr(d.adbin, d.adrelid),
     format(' %s%s', a.attidentity, a.attgenerated)) AS line
   FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
   LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
   WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p', 'v', 'm') AND a.attnum > 0
     AND NOT a.attisdropped`,
  `SELECT format('index %s valid %s', pg_get_indexdef(indexrelid), indisvalid) AS line
   FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid WHERE c.relnamespace = 'public'::regnamespace`,
  `SELECT format('constraint %s %s %s valid %s', conrelid::regclass, conname, pg_get_constraintdef(oid), convalidated) AS line
   FROM pg_constraint WHERE connamespace = 'public'::regnamespace`,
  `SELECT 'function ' || pg_get_functiondef(oid) AS line FROM pg_proc
   WHERE pronamespace = 'public'::regnamespace AND prokind IN ('f', 'p')`,
  `SELECT format('trigger %s %s', pg_get_triggerdef(t.oid), t.tgenabled) AS line
   FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
   WHERE c.relnamespace = 'public'::regnamespace AND NOT t.tgisinternal`,
  `SELECT format('partition %s of %s %s', c.relname, i.inhparent::regclass, pg_get_expr(c.relpartbound, c.oid)) AS line
   FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE c.relkind IN ('r', 'p')`,
  `SELECT format('view %s %s', viewname, definition) AS line FROM pg_views WHERE schemaname = 'public'`,
  `SELECT format('type %s %s', typname, typtype) AS line FROM pg_type
   WHERE typnamespace = 'public'::regnamespace AND typtype IN ('e', 'd', 'r')`,
  `SELECT format('extension %s', extname) AS line FROM pg_extension`,
];

export async function dumpPostgres(databaseUrl: string): Promise<string[]> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    const linesOf = async (queries: readonly string[]) =>
      (await client.query<{ line: string }>(queries.join('\nUNION ALL\n'))).rows.map(({ line }) => line);
    const lines = await linesOf(postgresQueries);
    const tables = lines.flatMap((line) => /^table (\S+)/.exec(line)?.[1] ?? []);
    const counts = tables.map((table) => `SELECT format('rows of ${table}: %s', count(*)) AS line FROM ${table}`);
    if (counts.length > 0) lines.push(...(await linesOf(counts)));
    if (!tables.includes('schema_migration')) return lines.sort();
    const applied = await client.query<{ name: string }>('SELECT name FROM schema_migration ORDER BY id');
    return [...lines.sort(), `applied: ${applied.rows.map(({ name }) => name).join(' ')}`];
  } finally {
    await client.end();
  }
}

export async function dumpClickhouse(clickhouseUrl: string): Promise<string[]> {
  const client = createClient({ url: clickhouseUrl });
  const database = new URL(clickhouseUrl).pathname.slice(1);
  const ask = async <Row>(query: string) =>
    (await client.query({ query, query_params: { database }, format: 'JSONEachRow' })).json<Row>();
  try {
    const tables = await ask<{ name: string; engine: string; sql: string }>(
      'SELECT name, engine, create_table_query AS sql FROM system.tables WHERE database = {database: String}',
    );
    const lines = tables.map(({ sql }) => sql.replaceAll(`${database}.`, ''));
    for (const { name, engine } of tables) {
      // The table of applied files may have a file twice. Its files are listed below, each once.
      if (!engine.endsWith('MergeTree') || name === '_migrations') continue;
      const final = engine === 'MergeTree' ? '' : ' FINAL';
      const [count] = await ask<{ rows: string }>(`SELECT count() AS rows FROM ${name}${final}`);
      lines.push(`rows of ${name}: ${count!.rows}`);
    }
    const applied = tables.some(({ name }) => name === '_migrations')
      ? await ask<{ file: string }>('SELECT DISTINCT migration_name AS file FROM _migrations ORDER BY version')
      : [];
    return [...lines.sort(), `applied: ${applied.map(({ file }) => file).join(' ')}`];
  } finally {
    await client.close();
  }
}
