import avsc from 'avsc';
import { type AvroField, agree, rowFields } from '../../schemas/avro/columns.ts';
import type { RegisterName } from '../../schemas/registers.ts';
import { UndecodableRecord } from '../changes/errors.ts';
import { headerBytes, schemaHeader, schemaIdOf, schemaText } from '../changes/record.ts';
import { StreamError } from './kafka.ts';
import type { SchemaRegistry } from './registry.ts';
import { type SchemaArchive, toldOf } from './schema-archive.ts';
import { changesOutput } from './topics.ts';

/** Gives records in the schema that this release reads. */
export interface RecordSchemas {
  /**
   * The value with the register's current schema: the same bytes where it has that one already.
   * @throws UndecodableRecord where its schema is unknown or cannot be read as the current one; StreamError
   *   `registry_unavailable` when nobody could be asked
   */
  current(register: RegisterName, value: Buffer): Buffer | Promise<TranslatedRecord>;
}

/** A record of another release with the fields of this one. */
export interface TranslatedRecord {
  value: Buffer;
  /** Cells of a row in it. */
  columns: number;
}

/**
 * Which columns the rows of a translated record have: `today`, by name, for whoever reads what they say; `as_written` for
 * whoever stores them: a row that is read again must be the one that was stored at first, and each edition's columns are in
 * the catalogue.
 */
export type RowColumns = 'today' | 'as_written';

/** Text of a register's schema by its registry id; null: neither the registry nor the archive knows it. */
export type SchemaSource = (register: RegisterName, id: number) => Promise<string | null>;

/** The registry's answer for the topic's own subject; else what the archive kept of a registry that lost it. */
export function schemaSource(registry: SchemaRegistry, archive: SchemaArchive, prefix: string): SchemaSource {
  return async (register, id) => {
    const { subject } = changesOutput(prefix, register);
    const told = await toldOf(registry, subject, id);
    if (told !== null) return told;
    return (await archive.schemasOf(subject)).find((kept) => kept.id === id)?.schema ?? null;
  };
}

type Translate = (value: Buffer) => TranslatedRecord;

/**
 * Records are kept for ever, so a topic holds those of earlier releases too. They are resolved to the current schema as
 * Avro lays down (a field that did not exist takes its default) and encoded anew; each schema is asked for once.
 */
export class WriterSchemas implements RecordSchemas {
  readonly #source: SchemaSource;
  readonly #currentIds: ReadonlyMap<RegisterName, number>;
  readonly #rows: RowColumns;
  readonly #textOf: (register: RegisterName) => string;
  readonly #translations = new Map<string, Promise<Translate>>();

  /** `currentIds`: registry id of the schema that `textOf` gives (schemas/avro, unless a test says otherwise). */
  constructor(
    source: SchemaSource,
    currentIds: ReadonlyMap<RegisterName, number>,
    rows: RowColumns,
    textOf: (register: RegisterName) => string = schemaText,
  ) {
    this.#source = source;
    this.#currentIds = currentIds;
    this.#rows = rows;
    this.#textOf = textOf;
  }

  current(register: RegisterName, value: Buffer): Buffer | Promise<TranslatedRecord> {
    const id = schemaIdOf(value);
    if (id === this.#currentIds.get(register)) return value;
    return this.#translation(register, id).then((translate) => translate(value));
  }

  #translation(register: RegisterName, id: number): Promise<Translate> {
    const key = `${register}/${id}`;
    const known = this.#translations.get(key);
    if (known !== undefined) return known;
    const made = this.#make(register, id);
    this.#translations.set(key, made);
    // Nobody answered: the next try asks again. That a schema is unknown is remembered, or a bad record would be asked
    // about for ever.
    made.catch((error: unknown) => {
      if (!(error instanceof UndecodableRecord)) this.#translations.delete(key);
    });
    return made;
  }

  async #make(register: RegisterName, id: number): Promise<Translate> {
    const currentId = this.#currentIds.get(register);
    if (currentId === undefined) throw new Error(`no current schema of ${register} was given`);
    const text = await this.#source(register, id).catch((error: unknown) => {
      if (error instanceof StreamError) throw error;
      const message = `nobody tells schema ${id} of ${register}`;
      throw new StreamError('registry_unavailable', message, { retryable: true, cause: error });
    });
    if (text === null) throw new UndecodableRecord(`schema id ${id} is not known`);
    const writer: unknown = JSON.parse(text);
    const reader: unknown = JSON.parse(this.#textOf(register));
    if (fullName(writer) !== fullName(reader)) throw new UndecodableRecord(`schema id ${id} is of another register`);
    const columns = rowFields(writer);
    const today = rowFields(reader);
    if (!agree(namesOf(columns), namesOf(today)))
      throw new UndecodableRecord(`schema id ${id} has other columns at the places of today's`);
    const newer = namesOf(columns.slice(today.length));
    // Reading on would drop these cells from the state, and no later edition would bring them back.
    if (newer.length > 0)
      throw new UndecodableRecord(`schema id ${id} has columns of a newer release: ${newer.join()}`);
    // In place: the list is that of the schema itself.
    if (this.#rows === 'as_written') today.splice(0, Infinity, ...columns);
    return translation(writer, reader, id, currentId);
  }
}

function translation(writer: unknown, reader: unknown, id: number, currentId: number): Translate {
  const writerType = avsc.Type.forSchema(writer as avsc.Schema, { wrapUnions: false });
  const readerType = avsc.Type.forSchema(reader as avsc.Schema, { wrapUnions: false });
  let resolver: avsc.Type | object;
  try {
    resolver = readerType.createResolver(writerType);
  } catch {
    throw new UndecodableRecord(`schema id ${id} cannot be read as the current one`);
  }
  const header = schemaHeader(currentId);
  const columns = rowFields(reader).length;
  return (value) => {
    try {
      const record: unknown = readerType.fromBuffer(value.subarray(headerBytes), resolver as never);
      return { value: Buffer.concat([header, readerType.toBuffer(record)]), columns };
    } catch {
      // avsc's own text quotes bytes of the record, which may be a person's name.
      throw new UndecodableRecord(`not of its schema ${id}`);
    }
  };
}

function fullName(schema: unknown): string {
  const { namespace, name } = schema as { namespace?: string; name?: string };
  return `${namespace ?? ''}.${name ?? ''}`;
}

function namesOf(fields: readonly AvroField[]): string[] {
  return fields.map(({ name }) => name);
}
