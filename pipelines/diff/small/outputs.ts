import { randomUUID } from 'node:crypto';
import type { ChangeFileFacts } from '../change-writer.ts';
import type { ConflictList } from '../conflict-list.ts';
import { type ContainerFile, ContainerWriter } from '../container.ts';
import type { Listing } from '../listing-file.ts';
import type { RejectList } from '../reject-file.ts';
import { namedBytes } from '../schema.ts';
import { attemptName } from '../work-files.ts';
import { RecordCodec } from './records.ts';
import type { OverlayRow, SmallChange } from './state.ts';

/** What a change file says of itself; nothing is hashed here, so no seed. */
export type EditionFacts = Omit<ChangeFileFacts, 'hashSeed'>;

/** Writes an edition's files: each under an attempt's name until it is whole and durable; equal input gives equal bytes. */
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
    const { register, edition, baseSha256, detectedAt, parserVersion, columns, isFull, corrects } = this.#facts;
    const metadata = {
      'padron.register': register,
      'padron.edition': String(edition),
      'padron.base': baseSha256,
      'padron.detected_at': String(detectedAt),
      'padron.parser_version': String(parserVersion),
      'padron.columns': columns.join(','),
      ...(isFull && baseSha256 !== '' ? { 'padron.full': 'true' } : {}),
      ...(corrects === null ? {} : { 'padron.corrects': String(corrects) }),
    };
    const records = changes.map((change, seq) => () => this.#codec.change(change, { ...this.#facts, seq }));
    return this.#container('changes', this.#codec.changeSchema, metadata, records);
  }

  /** Null when the state is what the publication says. */
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
