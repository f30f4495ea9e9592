import type { Kafka } from 'kafkajs';
import { agree, rowFields } from '../../schemas/avro/columns.ts';
import { type RegisterName, registerNames, registers } from '../../schemas/registers.ts';
import { schemaText } from '../changes/record.ts';
import { ensureHead, readHead } from '../editions/heads.ts';
import type { Pool } from '../runtime/postgres.ts';
import { StreamError } from './kafka.ts';
import { registerSchemas, type SchemaRegistry, schemaIdFor } from './registry.ts';
import { type ArchivedSchema, SchemaArchive } from './schema-archive.ts';
import { changesOutput, checkTopics, editionsOutput, ensureTopics, outputsOf } from './topics.ts';

export interface StreamParts {
  kafka: Kafka;
  registry: SchemaRegistry;
  pool: Pool;
  archiveUrl: string;
  prefix: string;
}

/** Registry ids of the current schemas of a register. */
export interface SchemaIds {
  changes: number;
  editions: number;
}

/** Deploy step, after the migrations: the register's row, its schemas, its topics. Repeatable; a half-done one is run again. */
export async function prepareStream(parts: StreamParts, register: RegisterName): Promise<SchemaIds> {
  const { kafka, registry, pool, archiveUrl, prefix } = parts;
  const archive = new SchemaArchive(archiveUrl);
  await ensureHead(pool, register);
  const outputs = outputsOf(prefix, register);
  // Before anything is registered: a registry that was filled anew must not be added to.
  await checkSchemas(archive, registry, prefix, register);
  const ids = await registerSchemas(registry, outputs);
  // Dying before this leaves an id that no record uses yet; the repeat registers the same id and puts it.
  for (const { subject, schema } of outputs) await archive.put(subject, ids.get(subject)!, schemaText(schema));
  const { partitions } = await readHead(pool, register);
  await ensureTopics(kafka, { prefix, register, partitions });
  return {
    changes: ids.get(changesOutput(prefix, register).subject)!,
    editions: ids.get(editionsOutput(prefix, register).subject)!,
  };
}

/** The same for all registers. */
export async function prepareStreams(parts: StreamParts): Promise<Record<RegisterName, SchemaIds>> {
  return ofEach((register) => prepareStream(parts, register));
}

/** `checkStream` of all registers. */
export async function checkStreams(parts: StreamParts): Promise<Record<RegisterName, SchemaIds>> {
  return ofEach((register) => checkStream(parts, register));
}

/**
 * The first by itself, the others at once: the schema of the editions topics is the same for all, and a registry that is
 * told of a schema it does not have by several callers at the same time may refuse one of them.
 */
async function ofEach(work: (register: RegisterName) => Promise<SchemaIds>): Promise<Record<RegisterName, SchemaIds>> {
  const [first, ...others] = registerNames;
  const done = [await work(first!)];
  done.push(...(await Promise.all(others.map(work))));
  return Object.fromEntries(registerNames.map((register, place) => [register, done[place]])) as Record<
    RegisterName,
    SchemaIds
  >;
}

/**
 * Each start: refuses topics with other settings, a registry that disagrees with the archive, columns that are not those of
 * the rows that are stored, and schemas that were not registered.
 * @throws StreamError, see topics.ts, schema-archive.ts and schema-registry.ts
 */
export async function checkStream(parts: StreamParts, register: RegisterName): Promise<SchemaIds> {
  const { kafka, registry, pool, archiveUrl, prefix } = parts;
  const { partitions } = await readHead(pool, register);
  await checkTopics(kafka, { prefix, register, partitions });
  await checkSchemas(new SchemaArchive(archiveUrl), registry, prefix, register);
  return {
    changes: await schemaIdFor(registry, changesOutput(prefix, register)),
    editions: await schemaIdFor(registry, editionsOutput(prefix, register)),
  };
}

async function checkSchemas(
  archive: SchemaArchive,
  registry: SchemaRegistry,
  prefix: string,
  register: RegisterName,
): Promise<void> {
  const archived = await archive.check(registry, changesOutput(prefix, register).subject);
  await archive.check(registry, editionsOutput(prefix, register).subject);
  checkColumns(
    register,
    registers[register].columns.map(({ name }) => name),
    archived,
  );
}

/**
 * Rows that any release wrote are read by today's positions. An older release that is started again agrees too.
 * @throws StreamError `columns_moved`
 */
export function checkColumns(
  register: RegisterName,
  columns: readonly string[],
  archived: readonly ArchivedSchema[],
): void {
  for (const { id, schema } of archived) {
    const written = rowFields(JSON.parse(schema)).map(({ name }) => name);
    if (agree(written, columns)) continue;
    const message =
      `rows of ${register} were stored with the columns ${written.join()} (schema ${id}), and this release would read them as ` +
      `${columns.join()}: columns are only added at the end; one that is no longer published stays, empty`;
    throw new StreamError('columns_moved', message, { retryable: false });
  }
}
