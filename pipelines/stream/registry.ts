import { isDeepStrictEqual } from 'node:util';
import { Compatibility, SchemaRegistryClient } from '@confluentinc/schemaregistry/dist/schemaregistry-client.js';
import { schemaText } from '../changes/record.ts';
import { StreamError } from './kafka.ts';
import type { Output } from './topics.ts';

// SchemaRegistryClient is imported from a module inside its package. The package's entry would also load the encryption
// clients of three clouds. They would cost 1 s and 50 MB per process.

export type SchemaRegistry = ReturnType<typeof connectRegistry>;

/** The registry calls that we use. The registry only stores schemas and gives ids; our own code encodes and decodes. */
export function connectRegistry(url: string) {
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
    /**
     * Registers the schema under FULL_TRANSITIVE compatibility and resolves with its id. A repeat gives the same id.
     * @throws StreamError `schema_incompatible` if the schema is not compatible with all earlier ones
     */
    register: (subject: string, schema: string) =>
      guard(subject, async () => {
        await client.updateCompatibility(subject, Compatibility.FULL_TRANSITIVE);
        return client.register(subject, info(schema), false);
      }),
    /** Resolves with the id of exactly this schema. @throws StreamError `schema_missing` if it is not registered */
    idOf: (subject: string, schema: string) => guard(subject, () => client.getId(subject, info(schema), false)),
    /** Resolves with the text of the schema that has this id. @throws StreamError `schema_missing` if there is none */
    textOf: (subject: string, id: number) =>
      guard(subject, async () => (await client.getBySubjectAndId(subject, id)).schema),
  };
}

async function guard<Result>(subject: string, call: () => Promise<Result>): Promise<Result> {
  try {
    return await call();
  } catch (error) {
    const { status } = error as { status?: unknown };
    if (status === 409) {
      const message = `the registry refuses the schema of ${subject}: not compatible with all earlier ones (FULL_TRANSITIVE)`;
      throw new StreamError('schema_incompatible', message, { cause: error });
    }
    if (status === 404) {
      const message = `the registry does not know the schema of ${subject}: run \`padron migrate\``;
      throw new StreamError('schema_missing', message, { cause: error });
    }
    throw error;
  }
}

export function schemaIdFor(registry: SchemaRegistry, output: Output): Promise<number> {
  return registry.idOf(output.subject, schemaText(output.schema));
}

/** Whether two texts are the same schema. The registry may change the white space and the order of the keys. */
export function sameSchema(one: string, other: string): boolean {
  return isDeepStrictEqual(JSON.parse(one), JSON.parse(other));
}
