import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import avro from 'avsc';
import { type RegisterName, registers } from '../../../schemas/registers.ts';
import { type DecodedChange, openChangeFile } from '../change-file.ts';
import { CompareError } from '../errors.ts';
import { changeSchema, overlaySchema } from '../schema.ts';
import type { Cells, OverlayRow, SmallChange } from './state.ts';

type NamedRow = Record<string, string>;
interface NamedOverlayRow {
  ruc: string;
  reason: OverlayRow['reason'];
  line: number | null;
  row: NamedRow | null;
}

/** A small register's rows as Avro records and back. Cells may be of any length. */
export class RecordCodec {
  readonly changeSchema: unknown;
  readonly overlaySchema: unknown;
  readonly #columns: readonly string[];
  readonly #change: avro.Type;
  readonly #overlay: avro.Type;

  constructor(register: RegisterName) {
    this.#columns = registers[register].columns.map(({ name }) => name);
    this.changeSchema = changeSchema(register);
    this.overlaySchema = overlaySchema(register);
    this.#change = avro.Type.forSchema(this.changeSchema as avro.Schema);
    this.#overlay = avro.Type.forSchema(this.overlaySchema as avro.Schema);
  }

  change(
    { op, key, before, after, line }: SmallChange,
    of: { edition: number; seq: number; detectedAt: number; corrects: number | null },
  ): Buffer {
    const { edition, seq, detectedAt, corrects } = of;
    const [old, now] = [this.#named(before), this.#named(after)];
    return this.#change.toBuffer({
      ...{ edition, op, seq, ruc: key, before: old, after: now, line },
      ...{ detected_at: detectedAt, corrects },
    });
  }

  overlayRow({ key, reason, line, row }: OverlayRow): Buffer {
    return this.#overlay.toBuffer({ ruc: key, reason, line, row: this.#named(row) });
  }

  #named(cells: Cells | null): NamedRow | null {
    return cells && Object.fromEntries(this.#columns.map((name, column) => [name, cells[column]!]));
  }
}

/** A change file read whole: what it says of itself, and its changes with the cells in the order of its own columns. */
export interface ReadChangeFile {
  register: string;
  edition: number;
  baseSha256: string;
  parserVersion: number;
  columns: string[];
  changes: SmallChange[];
}

/** @throws CompareError `change_file_damaged`; with `sha256`, also when the file is another */
export async function readChangeFile(path: string, sha256: string | null): Promise<ReadChangeFile> {
  if (
    sha256 !== null &&
    createHash('sha256')
      .update(await readFile(path))
      .digest('hex') !== sha256
  ) {
    throw new CompareError('change_file_damaged', 'A change file is not what its name says.');
  }
  const { header, records } = await readRecords<DecodedChange>(path);
  const columns = (header.metadata['padron.columns'] ?? '').split(',');
  const cells = (row: NamedRow | null) => row && columns.map((name) => row[name] ?? '');
  return {
    register: header.register,
    edition: header.edition,
    baseSha256: header.baseSha256,
    parserVersion: Number(header.metadata['padron.parser_version']),
    columns,
    changes: records.map(({ op, ruc, before, after, line }) => {
      return { op, key: ruc, before: cells(before), after: cells(after), line };
    }),
  };
}

/** An overlay's rows by the names of its own columns, which may be those of an older column list; none without a file. */
export async function readOverlay(path: string | null): Promise<NamedOverlayRow[]> {
  return path === null ? [] : (await readRecords<NamedOverlayRow>(path)).records;
}

async function readRecords<Item>(path: string) {
  const file = await openChangeFile(path);
  try {
    const type = avro.Type.forSchema(JSON.parse(file.header.metadata['avro.schema']!) as avro.Schema);
    const records: Item[] = [];
    for await (const { bytes, count } of file.blocks()) {
      let at = 0;
      for (let record = 0; record < count; record += 1) {
        const { value, offset } = type.decode(bytes, at);
        if (offset < 0)
          throw new CompareError('change_file_damaged', 'The change file has a record longer than its block.');
        records.push(value as Item);
        at = offset;
      }
    }
    return { header: file.header, records };
  } finally {
    await file.close();
  }
}
