import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import avro from 'avsc';
import { type RegisterName, registers } from '../../../schemas/registers.ts';
import { type ChangeFileHeader, decodeChanges, decodeRecords, openChangeFile } from '../change-file.ts';
import { CompareError } from '../errors.ts';
import type { OverlayEntry } from '../overlay-file.ts';
import { changeSchema, overlaySchema } from '../schema.ts';
import type { Cells, OverlayRow, SmallChange } from './state.ts';

type NamedRow = Record<string, string>;

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
    const { detectedAt, ...numbers } = of;
    const [old, now] = [this.#named(before), this.#named(after)];
    return this.#change.toBuffer({ ...numbers, op, ruc: key, before: old, after: now, line, detected_at: detectedAt });
  }

  overlayRow({ key, reason, line, row }: OverlayRow): Buffer {
    return this.#overlay.toBuffer({ ruc: key, reason, line, row: this.#named(row) });
  }

  #named(cells: Cells | null): NamedRow | null {
    return cells && Object.fromEntries(this.#columns.map((name, column) => [name, cells[column]!]));
  }
}

/** A change file read whole, its changes with the cells in the order of its own columns. */
export interface ReadChangeFile extends ChangeFileHeader {
  changes: SmallChange[];
}

/** @throws CompareError `change_file_damaged`; with `sha256`, also when the file is another */
export async function readChangeFile(path: string, sha256: string | null): Promise<ReadChangeFile> {
  if (sha256 !== null && hashOf(await readFile(path)) !== sha256) {
    throw new CompareError('change_file_damaged', 'A change file is not what its name says.');
  }
  const file = await openChangeFile(path);
  await file.close();
  const { columns } = file.header;
  const cells = (row: NamedRow | null) => row && columns.map((name) => row[name] ?? '');
  const changes: SmallChange[] = [];
  for await (const { op, ruc, before, after, line } of decodeChanges(path)) {
    changes.push({ op, key: ruc, before: cells(before), after: cells(after), line });
  }
  return { ...file.header, changes };
}

function hashOf(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}

/** An overlay's rows by the names of its own columns, which may be those of an older column list; none without a file. */
export async function readOverlay(path: string | null): Promise<OverlayEntry[]> {
  const entries: OverlayEntry[] = [];
  if (path !== null) for await (const entry of decodeRecords<OverlayEntry>(path)) entries.push(entry);
  return entries;
}
