import type { Kafka } from 'kafkajs';
import { agree, rowFields } from '../../schemas/avro/columns.ts';
import { type RegisterName, registerNames, registers } from '../../schemas/registers.ts';
import { schemaText } from '../changes/record.ts';
import { ensureHead, readHead } from '../editions/heads.ts';
import type { Pool } from '../runtime/postgres.ts';
import { StreamError } from './kafka.ts';
import { type SchemaRegistry, schemaIdFor } from './registry.ts';
import { type ArchivedSchema, SchemaArchive } from './schema-archive.ts';
import { changesOutput, checkTopics, editionsOutput, ensureTopics, type Output } from './topics.ts';

export interface StreamDependencies {
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

type IdsByRegister = Record<RegisterName, SchemaIds>;

/**
 * Creates the register's row in register_head, its schemas and its topics. A deployment runs this after the migrations.
 * A repeat changes nothing.
 */
export async function prepareStream(dependencies: StreamDependencies, register: RegisterName): Promise<SchemaIds> {
  const { kafka, registry, pool, archiveUrl, prefix } = dependencies;
  const archive = new SchemaArchive(archiveUrl);
  await ensureHead(pool, register);
  // This check comes first, because nothing may be added to a registry that disagrees with the archive.
  await checkSchemas(archive, registry, prefix, register);
  const ids = {
    changes: await registerSchema(registry, archive, changesOutput(prefix, register)),
    editions: await registerSchema(registry, archive, editionsOutput(prefix, register)),
  };
  const { partitions } = await readHead(pool, register);
  await ensureTopics(kafka, { prefix, register, partitions });
  return ids;
}

async function registerSchema(registry: SchemaRegistry, archive: SchemaArchive, { subject, schema }: Output) {
  const text = schemaText(schema);
  const id = await registry.register(subject, text);
  // If the process dies here, no record uses the new id yet. A repeat gets the same id from the registry and archives
  // it.
  await archive.put(subject, id, text);
  return id;
}

export async function prepareStreams(dependencies: StreamDependencies): Promise<IdsByRegister> {
  return forEachRegister((register) => prepareStream(dependencies, register));
}

export async function checkStreams(dependencies: StreamDependencies): Promise<IdsByRegister> {
  return forEachRegister((register) => checkStream(dependencies, register));
}

/**
 * Runs `work` for the first register alone, and then for all other registers in parallel. All editions topics share one
 * schema, and a registry may refuse a new schema that several callers register at once. So the first register alone
 * registers this schema.
 */
async function forEachRegister(work: (register: RegisterName) => Promise<SchemaIds>): Promise<IdsByRegister> {
  const [first, ...others] = registerNames;
  const done = [await work(first!), ...(await Promise.all(others.map(work)))];
  return Object.fromEntries(registerNames.map((register, place) => [register, done[place]])) as IdsByRegister;
}

/**
 * Checks a register's stream when a process starts. Refuses wrong settings of a topic, and schemas that are not
 * registered. Refuses a registry that disagrees with the archive, and columns that disagree with the stored rows.
 * @throws StreamError with the code of the first check that fails
 */
export async function checkStream(dependencies: StreamDependencies, register: RegisterName): Promise<SchemaIds> {
  const { kafka, registry, pool, archiveUrl, prefix } = dependencies;
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
  const columns = registers[register].columns.map(({ name }) => name);
  checkColumns(register, columns, archived);
}

/**
 * Checks that this release finds each cell of a stored row at the position of its column. Rows of every release are
 * checked, even of later ones, because an older release may be started again.
 * @throws StreamError `columns_moved` if a column stands at another position
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
    throw new StreamError('columns_moved', message);
  }
}
