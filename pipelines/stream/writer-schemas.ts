import avsc from 'avsc';
import { type AvroField, agree, rowFields } from '../../schemas/avro/columns.ts';
import type { RegisterName } from '../../schemas/registers.ts';
import { UndecodableRecord } from '../changes/errors.ts';
import { headerBytes, schemaHeader, schemaIdOf, schemaText } from '../changes/record.ts';
import { StreamError } from './kafka.ts';
import type { SchemaRegistry } from './registry.ts';
import { registeredSchema, type SchemaArchive } from './schema-archive.ts';
import { changesOutput } from './topics.ts';

export type RecordSchemas = Pick<WriterSchemas, 'current'>;

/** A record of another release, encoded again for this release. `RowColumns` says which columns its rows have. */
export interface TranslatedRecord {
  value: Buffer;
  /** Number of cells in each row of the record. */
  columns: number;
}

/**
 * Which columns the rows of a translated record get:
 * - `today`: the current columns. It is for readers that find cells by name.
 * - `as_written`: the columns of the record. It is for readers that store the rows, because a record must give an equal
 *   row when a release with other columns reads it again. The catalogue says which columns each edition has.
 */
export type RowColumns = 'today' | 'as_written';

/** Finds a register's schema by its registry id. Resolves with null if neither registry nor archive has it. */
export type SchemaSource = (register: RegisterName, id: number) => Promise<string | null>;

/**
 * Returns a source that looks for the id in the registry, under the subject of the register's changes topic. If the
 * registry does not have it, the source looks in the archive, which also has the schemas of a lost registry.
 */
export function schemaSource(registry: SchemaRegistry, archive: SchemaArchive, prefix: string): SchemaSource {
  return async (register, id) => {
    const { subject } = changesOutput(prefix, register);
    const registered = await registeredSchema(registry, subject, id);
    return registered ?? (await archive.schemasOf(subject)).find((kept) => kept.id === id)?.schema ?? null;
  };
}

type Translate = (value: Buffer) => TranslatedRecord;

/**
 * Translates records of other releases to the current schema. Most are of earlier releases, because a topic keeps
 * records for ever. A field that a record lacks gets the schema's default. Each schema is fetched once.
 */
export class WriterSchemas {
  readonly #source: SchemaSource;
  readonly #currentIds: ReadonlyMap<RegisterName, number>;
  readonly #rows: RowColumns;
  readonly #textOf: (register: RegisterName) => string;
  readonly #translations = new Map<string, Promise<Translate>>();

  /**
   * `textOf` returns a register's current schema: the file in schemas/avro, except in tests. `currentIds` are the
   * registry ids of these schemas.
   */
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

  /**
   * Returns the value in the register's current schema. A value that already has this schema is returned unchanged.
   * @throws UndecodableRecord if the value's schema is unknown, or cannot be translated to the current schema
   * @throws StreamError `registry_unavailable` if the schema cannot be fetched from the registry or the archive
   */
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
    // After a failed fetch, the next record fetches the schema again. An UndecodableRecord is remembered. Otherwise
    // each record with a bad schema would cause a request.
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
      const message = `neither registry nor archive answered for schema ${id} of ${register}`;
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
    // This release does not know the newer columns and would drop their cells. No later edition would bring them back.
    if (newer.length > 0) throw new UndecodableRecord(`schema id ${id} has columns of a newer release: ${newer}`);
    // `today` is the list of fields inside `reader`, so this line gives the reader's schema the columns of the record.
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
      // The error of avsc is not passed on, because it quotes bytes of the record, and they may be a person's name.
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
