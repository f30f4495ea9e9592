import { createHash, randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import avro from 'avsc';
import { type RegisterName, registers } from '../../../schemas/registers.ts';
import {
  type ChangeFileHeader,
  decodeChanges,
  decodeRecords,
  type EditionFacts,
  metadataOf,
  openChangeFile,
} from '../../changes/change-file.ts';
import { type ContainerFile, ContainerWriter } from '../../changes/container-writer.ts';
import { CompareError } from '../../changes/errors.ts';
import { changeSchema, namedBytes, overlaySchema } from '../../changes/schema.ts';
import type { ConflictList, Listing, RejectList } from '../listings.ts';
import type { OverlayEntry } from '../overlay-file.ts';
import { attemptName } from '../work-files.ts';
import type { Cells, OverlayRow, SmallChange } from './state.ts';

/**
 * Writes an edition's files. Each file has a temporary name until it is whole and durable. Equal input gives equal
 * bytes.
 */
export class EditionOutputs {
  readonly #folder: string;
  readonly #facts: EditionFacts;
  readonly #codec: RecordCodec;
  readonly #attempt = randomUUID();

  constructor(folder: string, facts: EditionFacts) {
    this.#folder = folder;
    this.#facts = facts;
    this.#codec = new RecordCodec(facts.register);
  }

  changes(changes: readonly SmallChange[]): ContainerFile {
    const records = changes.map((change, seq) => () => this.#codec.change(change, { ...this.#facts, seq }));
    return this.#container('changes', this.#codec.changeSchema, metadataOf(this.#facts), records);
  }

  /** Returns null when there are no rows: the state then equals the publication. */
  overlay(rows: readonly OverlayRow[]): ContainerFile | null {
    if (rows.length === 0) return null;
    const { register, edition } = this.#facts;
    const metadata = { 'padron.register': register, 'padron.edition': String(edition) };
    const records = rows.map((row) => () => this.#codec.overlayRow(row));
    return this.#container('overlay', this.#codec.overlaySchema, metadata, records);
  }

  rejects(list: RejectList, changeFileSha256: string): Listing | null {
    return list.write(this.#folder, this.#attemptName('rejects'), this.#name('rejects', changeFileSha256, 'ndjson'));
  }

  conflicts(list: ConflictList, changeFileSha256: string): Listing | null {
    const name = this.#name('conflicts', changeFileSha256, 'ndjson');
    return list.write(this.#folder, this.#attemptName('conflicts'), name);
  }

  #container(
    kind: 'changes' | 'overlay',
    schema: unknown,
    metadata: Record<string, string>,
    records: readonly (() => Buffer)[],
  ): ContainerFile {
    const { register, edition, baseSha256, detectedAt } = this.#facts;
    const sync = namedBytes(16, kind, register, edition, baseSha256, detectedAt);
    const writer = new ContainerWriter(this.#folder, this.#attemptName(kind), schema, metadata, sync);
    try {
      for (const record of records) writer.append(record());
      return writer.finish((sha256) => this.#name(kind, sha256, 'avro'));
    } finally {
      writer.discard();
    }
  }

  #name(kind: string, sha256: string, end: string): string {
    return `${this.#facts.register}.${this.#facts.edition}.${kind}.${sha256}.${end}`;
  }

  #attemptName(kind: string): string {
    return attemptName(this.#facts.register, this.#attempt, kind);
  }
}

type NamedRow = Record<string, string>;

/** Encodes changes and overlay rows by their Avro schemas. Cells may have any length. */
class RecordCodec {
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

/** A change file with all its changes. Cells are in the order of the file's own columns. */
export interface ReadChangeFile extends ChangeFileHeader {
  changes: SmallChange[];
}

/** @throws CompareError `change_file_damaged`, also when `sha256` is given and differs from the file's hash */
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

/**
 * Reads an overlay's entries. Their rows have the overlay's own columns, which may be older than today's. There are no
 * entries when `path` is null.
 */
export async function readOverlay(path: string | null): Promise<OverlayEntry[]> {
  const entries: OverlayEntry[] = [];
  if (path !== null) for await (const entry of decodeRecords<OverlayEntry>(path)) entries.push(entry);
  return entries;
}
