import { Readable, type Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { ByteWriter, ParquetWriter, type SchemaElement } from 'hyparquet-writer';
import { type RegisterName, registers } from '../../schemas/registers.ts';
import { openChangeFile } from '../changes/change-file.ts';
import type { Row } from '../changes/record.ts';
import type { Operation } from '../changes/record-bytes.ts';
import { type ProduceDependencies, replayEdition } from '../stream/produce.ts';
import type { SelectedEdition } from './plan.ts';
import { ReplayError } from './types.ts';

/** One change as `padron replay` exports it. */
export interface ExportedChange {
  edition: number;
  op: Operation;
  ruc: string;
  before: Row | null;
  after: Row | null;
  /** Date of the edition's data, YYYY-MM-DD. */
  fecha_dato: string;
  /** Milliseconds since 1970. */
  detected_at: number;
  /** The edition that this change undoes, or null when the change belongs to no correction. */
  corrects: number | null;
}

/** What the fields of an exported change are called, and how its operation and its moment are written. */
export interface ExportWords {
  /** In the order in which a JSON line has them. `before` and `after` also begin the names of Parquet's columns. */
  names: Readonly<Record<keyof ExportedChange, string>>;
  operations: Readonly<Record<Operation, string>>;
  /** A moment in a JSON line. */
  time(at: Date): string;
}

/** The words of `padron replay`: those of the records in Kafka. */
const recordWords: ExportWords = {
  names: {
    edition: 'edition',
    op: 'op',
    ruc: 'ruc',
    before: 'before',
    after: 'after',
    fecha_dato: 'fecha_dato',
    detected_at: 'detected_at',
    corrects: 'corrects',
  },
  operations: { r: 'r', c: 'c', u: 'u', d: 'd' },
  time: (at) => at.toISOString(),
};

/**
 * Yields the changes of these editions, one change file after another. A change has the columns of the release that
 * wrote the change file, because each file holds its own schema.
 * @throws CompareError `change_file_damaged`
 */
export async function* exportedChanges(
  editions: readonly Pick<SelectedEdition, 'path' | 'fechaDato'>[],
): AsyncGenerator<ExportedChange[]> {
  for (const { path, fechaDato } of editions) {
    const file = await openChangeFile(path);
    try {
      for await (const records of file.decodedBlocks<Omit<ExportedChange, 'fecha_dato'>>()) {
        yield records.map((record) => {
          const { edition, op, ruc, before, after, detected_at, corrects } = record;
          return { edition, op, ruc, before, after, fecha_dato: fechaDato, detected_at, corrects };
        });
      }
    } finally {
      await file.close();
    }
  }
}

/**
 * Writes a JSON line per change, waits for a slow reader, and leaves the stream open. `report` gets the number of lines
 * so far.
 */
export async function writeNdjson(
  batches: AsyncIterable<readonly ExportedChange[]>,
  out: Writable,
  report: (rows: number) => void,
  signal: AbortSignal,
  words = recordWords,
): Promise<number> {
  let rows = 0;
  const names = Object.entries(words.names) as [keyof ExportedChange, string][];
  const shown = (change: ExportedChange, field: keyof ExportedChange) => {
    if (field === 'op') return words.operations[change.op];
    return field === 'detected_at' ? words.time(new Date(change.detected_at)) : change[field];
  };
  const lineOf = (change: ExportedChange) =>
    JSON.stringify(Object.fromEntries(names.map(([field, name]) => [name, shown(change, field)])));
  async function* lines(): AsyncGenerator<string> {
    for await (const changes of batches) {
      yield changes.map((change) => `${lineOf(change)}\n`).join('');
      rows += changes.length;
      report(rows);
    }
  }
  await pipeline(Readable.from(lines(), { objectMode: false }), out, { signal, end: false });
  return rows;
}

/** Number of rows that are collected in memory and then written as one row group of the Parquet file. */
const rowsPerGroup = 50_000;

type Cell = string | number | bigint | Date | null;

interface ParquetColumn {
  element: SchemaElement;
  read(change: ExportedChange): Cell;
}

const required = { repetition_type: 'REQUIRED' } as const;
const optional = { repetition_type: 'OPTIONAL' } as const;
const text = { type: 'BYTE_ARRAY', converted_type: 'UTF8' } as const;
/**
 * A moment, in milliseconds since 1970 in UTC. Without the logical type, DuckDB takes the column for times without a
 * zone and pyarrow takes it for UTC, so they differ by five hours in Lima. Older readers know only the converted type.
 */
const moment = {
  type: 'INT64',
  converted_type: 'TIMESTAMP_MILLIS',
  logical_type: { type: 'TIMESTAMP', isAdjustedToUTC: true, unit: 'MILLIS' },
} as const;

/**
 * Returns the columns of the Parquet file: edition, op, ruc, fecha_dato (date), detected_at (moment), corrects, and
 * then each column of the register twice, as `before_…` and `after_…`. All `before_…` cells are null when the change's
 * `before` is null, and all `after_…` cells are null when its `after` is null.
 */
function columnsOf(register: RegisterName, { names, operations }: ExportWords): ParquetColumn[] {
  const sides = (['before', 'after'] as const).flatMap((side) =>
    registers[register].columns.map(
      ({ name }): ParquetColumn => ({
        element: { name: `${names[side]}_${name}`, ...text, ...optional },
        read: (change) => change[side]?.[name] ?? null,
      }),
    ),
  );
  return [
    { element: { name: names.edition, type: 'INT64', ...required }, read: ({ edition }) => BigInt(edition) },
    { element: { name: names.op, ...text, ...required }, read: ({ op }) => operations[op] },
    { element: { name: names.ruc, ...text, ...required }, read: ({ ruc }) => ruc },
    {
      element: { name: names.fecha_dato, type: 'INT32', converted_type: 'DATE', ...required },
      read: ({ fecha_dato }) => new Date(`${fecha_dato}T00:00:00Z`),
    },
    {
      element: { name: names.detected_at, ...moment, ...required },
      read: ({ detected_at }) => new Date(detected_at),
    },
    {
      element: { name: names.corrects, type: 'INT64', ...optional },
      read: ({ corrects }) => (corrects === null ? null : BigInt(corrects)),
    },
    ...sides,
  ];
}

/** Writes the changes to `out` as one Parquet file. Waits while the reader of `out` is slow, and leaves `out` open. */
export async function writeParquet(
  register: RegisterName,
  batches: AsyncIterable<readonly ExportedChange[]>,
  out: Writable,
  report: (rows: number) => void,
  signal: AbortSignal,
  words = recordWords,
): Promise<number> {
  const columns = columnsOf(register, words);
  const schema = [{ name: 'root', num_children: columns.length }, ...columns.map(({ element }) => element)];
  const bytes = new CollectedBytes();
  const writer = new ParquetWriter({ writer: bytes, schema, createdBy: 'padron' });
  let group: ExportedChange[] = [];
  let rows = 0;
  const rowGroup = (): Buffer => {
    const columnData = columns.map(({ element, read }) => ({
      name: element.name,
      data: group.map(read),
      // With an offset index, the writer would keep an entry per page in memory until the end of the file.
      offsetIndex: false,
    }));
    writer.write({ columnData, rowGroupSize: rowsPerGroup });
    rows += group.length;
    group = [];
    report(rows);
    return bytes.take();
  };
  async function* pieces(): AsyncGenerator<Buffer> {
    for await (const changes of batches) {
      group.push(...changes);
      if (group.length >= rowsPerGroup) yield rowGroup();
    }
    if (group.length > 0) yield rowGroup();
    writer.finish();
    yield bytes.take();
  }
  await pipeline(Readable.from(pieces(), { objectMode: false }), out, { signal, end: false });
  return rows;
}

/** Keeps what the library writes in memory, at most one row group. */
class CollectedBytes extends ByteWriter {
  /** Returns a copy of the bytes since the last call, because the library writes over its buffer. */
  take(): Buffer {
    const bytes = Buffer.from(this.getBytes());
    this.index = 0;
    return bytes;
  }
}

/**
 * Sends these editions into the register's changes topic once more, oldest first. Each record gets the header `replay`.
 * If the process dies half way, a repeat sends some records once more. Readers count equal records once.
 * @throws ReplayError `edition_not_notified` when events of an edition are not written yet; nothing is sent then
 * @throws StreamError
 */
export async function replayIntoKafka(
  dependencies: Pick<ProduceDependencies, 'pool' | 'connection' | 'registry' | 'prefix' | 'log'>,
  editions: readonly SelectedEdition[],
  report: (rows: number) => void,
  signal: AbortSignal,
): Promise<number> {
  const early = editions.find(({ notified }) => !notified);
  if (early !== undefined) {
    const what = `edition ${early.edition} of ${early.register} is in progress: replay it once its events are written`;
    throw new ReplayError('edition_not_notified', what, { retryable: true });
  }
  let sent = 0;
  for (const { register, edition, path } of editions) {
    const input = { register, edition, changeFile: path };
    const done = await replayEdition(dependencies, input, ({ rows }) => report(sent + rows), signal);
    sent += done.rows;
    report(sent);
  }
  return sent;
}
