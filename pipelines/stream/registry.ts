import { Compatibility, SchemaRegistryClient } from '@confluentinc/schemaregistry/dist/schemaregistry-client.js';
import { schemaText } from '../changes/record.ts';
import { StreamError } from './kafka.ts';
import type { Output } from './topics.ts';

// The first import names a module inside the package. The package's entry would also load encryption clients of three
// clouds and cost 1 s and 50 MB per process.

/** The registry calls that we use. The registry only stores schemas and gives ids; our own code encodes and decodes. */
export interface SchemaRegistry {
  /**
   * Sets the subject's compatibility to FULL_TRANSITIVE, registers the schema and resolves with its id. A repeat
   * resolves with the same id.
   * @throws StreamError `schema_incompatible`
   */
  register(subject: string, schema: string): Promise<number>;
  /** Resolves with the id of exactly this schema. @throws StreamError `schema_missing` */
  idOf(subject: string, schema: string): Promise<number>;
  /** @throws StreamError `schema_missing` */
  textOf(subject: string, id: number): Promise<string>;
}

export function connectRegistry(url: string): SchemaRegistry {
  const client = new SchemaRegistryClient({
    baseURLs: [url],
    cacheCapacity: 100,
    maxRetries: 5,
    retriesWaitMs: 200,
    retriesMaxWaitMs: 5_000,
    createAxiosDefaults: { timeout: 10_000, proxy: false },
  });
  const info = (schema: string) => ({ schema, schemaType: 'AVRO' });
  return {
    register: (subject, schema) =>
      guard(subject, async () => {
        await client.updateCompatibility(subject, Compatibility.FULL_TRANSITIVE);
        return client.register(subject, info(schema), false);
      }),
    idOf: (subject, schema) => guard(subject, () => client.getId(subject, info(schema), false)),
    textOf: (subject, id) => guard(subject, async () => (await client.getBySubjectAndId(subject, id)).schema),
  };
}

async function guard<Result>(subject: string, call: () => Promise<Result>): Promise<Result> {
  try {
    return await call();
  } catch (error) {
    const status = (error as { status?: unknown }).status;
    const cause = error;
    if (status === 409) {
      const message = `the registry refuses the schema of ${subject}: not compatible with all earlier ones (FULL_TRANSITIVE)`;
      throw new StreamError('schema_incompatible', message, { retryable: false, cause });
    }
    if (status === 404) {
      const message = `the registry does not know the schema of ${subject}: run \`padron migrate\``;
      throw new StreamError('schema_missing', message, { retryable: false, cause });
    }
    throw error;
  }
}

/** Registers the schema of each output when a release is deployed. Resolves with the ids by subject. */
export async function registerSchemas(
  registry: SchemaRegistry,
  outputs: readonly Output[],
): Promise<Map<string, number>> {
  const ids = new Map<string, number>();
  for (const { subject, schema } of outputs) ids.set(subject, await registry.register(subject, schemaText(schema)));
  return ids;
}

export function schemaIdFor(registry: SchemaRegistry, output: Output): Promise<number> {
  return registry.idOf(output.subject, schemaText(output.schema));
}

/** Whether two texts are the same schema. The registry may return a schema in another layout. */
export function sameSchema(one: string, other: string): boolean {
  return JSON.stringify(sorted(JSON.parse(one))) === JSON.stringify(sorted(JSON.parse(other)));
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, part]) => [name, sorted(part)]),
  );
}
