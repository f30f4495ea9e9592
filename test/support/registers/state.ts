import { promisify } from 'node:util';
import { type Entry, open, type ZipFile } from 'yauzl';
import { makeClickhouse } from '../../../pipelines/runtime/clickhouse.ts';
import { type RegisterName, registers } from '../../../schemas/registers.ts';

export type Rows = Map<string, string[]>;

/**
 * Reads a publication whole into memory, as a second opinion on the product's parser. It handles only files without bad
 * lines whose letters are the same in Latin-1 and Windows-1252.
 */
export async function readPublication(path: string): Promise<Rows> {
  const zip = await promisify<string, { lazyEntries: boolean }, ZipFile>(open)(path, { lazyEntries: true });
  const entry = await new Promise<Entry>((resolve, reject) => {
    zip.once('entry', resolve).once('error', reject);
    zip.readEntry();
  });
  const pieces: Buffer[] = [];
  for await (const piece of await zip.openReadStreamPromise(entry)) pieces.push(piece as Buffer);
  const rows: Rows = new Map();
  for (const line of Buffer.concat(pieces).toString('latin1').split('\n').slice(1)) {
    if (line === '') continue;
    const [ruc, ...cells] = line.split('|');
    rows.set(ruc!, cells.slice(0, -1));
  }
  return rows;
}

/** The current rows of a register: the newest version of each RUC, without deleted ones. */
export async function readState(clickhouseUrl: string, register: RegisterName = 'padron_reducido'): Promise<Rows> {
  const rows: Rows = new Map();
  await eachRow<[string, number, string]>(
    clickhouseUrl,
    `SELECT toString(ruc), is_deleted, row FROM taxpayer WHERE register = ${registers[register].code}
     ORDER BY ruc, version DESC LIMIT 1 BY ruc SETTINGS max_threads = 1`,
    ([ruc, isDeleted, row]) => {
      if (isDeleted === 0) rows.set(ruc, JSON.parse(row) as string[]);
    },
  );
  return rows;
}

export interface ChangeRow {
  ruc: string;
  edition: number;
  op: string;
  before: string[] | null;
  after: string[] | null;
}

export async function readHistory(clickhouseUrl: string, register: RegisterName): Promise<ChangeRow[]> {
  const changes: ChangeRow[] = [];
  const parse = (text: string | null) => (text === null ? null : (JSON.parse(text) as string[]));
  await eachRow<[string, string, string, string | null, string | null]>(
    clickhouseUrl,
    `SELECT toString(ruc), toString(edition), op, before, after FROM register_change FINAL
     WHERE register = ${registers[register].code} ORDER BY edition, ruc`,
    ([ruc, edition, op, before, after]) =>
      changes.push({ ruc, edition: Number(edition), op, before: parse(before), after: parse(after) }),
  );
  return changes;
}

async function eachRow<Row>(url: string, query: string, take: (row: Row) => void): Promise<void> {
  const client = makeClickhouse(url, 'padron-test', { requestTimeoutMs: 120_000, connections: 1 });
  try {
    const result = await client.query({ query, format: 'JSONCompactEachRow' });
    for await (const rows of result.stream<Row>()) for (const row of rows) take(row.json() as Row);
  } finally {
    await client.close();
  }
}

const mostDifferences = 5;

/** The differences between two sets of rows, as a few lines; empty if they are equal. */
export function differences(expected: Rows, actual: Rows): string[] {
  const lines: string[] = [];
  for (const [ruc, cells] of expected) {
    const found = actual.get(ruc);
    if (!found) lines.push(`missing ${ruc}`);
    else if (found.join('|') !== cells.join('|'))
      lines.push(`${ruc}: ${found.join('|')} instead of ${cells.join('|')}`);
  }
  for (const ruc of actual.keys()) if (!expected.has(ruc)) lines.push(`not in the file: ${ruc}`);
  return lines.length > mostDifferences
    ? [...lines.slice(0, mostDifferences), `and ${lines.length - mostDifferences} more`]
    : lines;
}
