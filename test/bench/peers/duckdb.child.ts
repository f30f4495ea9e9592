import { DuckDBInstance } from '@duckdb/node-api';

// DuckDB is fastest here with the whole line as one column, joined on its first 11 characters, returning the rows.
const [oldText, newText] = process.argv.slice(2);
const lines = (path: string) =>
  `SELECT line[1:11] AS ruc, line FROM read_csv('${path}', columns={'line':'VARCHAR'}, delim='\\x01', quote='', escape='',
   header=false, skip=1, auto_detect=false, encoding='latin-1', parallel=true, max_line_size=2000)`;

const started = performance.now();
const instance = await DuckDBInstance.create(':memory:', { threads: '2' });
const connection = await instance.connect();
const reader = await connection.runAndReadAll(`
  SELECT o.ruc AS old_ruc, n.ruc AS new_ruc, o.line AS before, n.line AS after
  FROM (${lines(oldText!)}) o FULL JOIN (${lines(newText!)}) n ON o.ruc = n.ruc
  WHERE o.line IS DISTINCT FROM n.line`);
const rows = reader.getRows();
const wall = (performance.now() - started) / 1000;
const usage = process.resourceUsage();
const count = (wanted: (row: unknown[]) => boolean) => rows.filter((row) => wanted(row as unknown[])).length;
process.stdout.write(
  JSON.stringify({
    seconds: wall,
    cpuSeconds: (usage.userCPUTime + usage.systemCPUTime) / 1e6,
    peakRssBytes: usage.maxRSS * 1024,
    inserted: count(([old]) => old === null),
    deleted: count(([, made]) => made === null),
    updated: count(([old, made]) => old !== null && made !== null),
  }),
);
