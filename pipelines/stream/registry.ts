import { once } from 'node:events';
import { type IncomingMessage, request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { text as textOf } from 'node:stream/consumers';
import { isDeepStrictEqual } from 'node:util';
import { Compatibility, SchemaRegistryClient } from '@confluentinc/schemaregistry/dist/schemaregistry-client.js';
import { schemaText } from '../changes/record.ts';
import type { RegistryConfiguration } from '../runtime/config.ts';
import type { EngineCheck } from '../runtime/engines/check.ts';
import { engineError, shownAddress } from '../runtime/engines/failure.ts';
import { FileAgent, type TlsFiles } from '../runtime/engines/tls.ts';
import { StreamError } from './kafka.ts';
import type { Output } from './topics.ts';

// SchemaRegistryClient is imported from a module inside its package. The package's entry would also load the encryption
// clients of three clouds. They would cost 1 s and 50 MB per process.

export type SchemaRegistry = ReturnType<typeof connectRegistry>;

/** Where the registry is and how we log in there. A plain address stands for one without TLS files and login. */
export interface RegistryAccess {
  url: string;
  files?: TlsFiles;
  /** Value of the header `authorization`. */
  authorization?: string | undefined;
}

export function registryAccess(config: RegistryConfiguration): RegistryAccess {
  const { SCHEMA_REGISTRY_USERNAME: user, SCHEMA_REGISTRY_PASSWORD: password, SCHEMA_REGISTRY_TOKEN: token } = config;
  const basic = user === undefined ? undefined : `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;
  return {
    url: config.SCHEMA_REGISTRY_URL,
    files: {
      ca: config.SCHEMA_REGISTRY_CA_FILE,
      cert: config.SCHEMA_REGISTRY_CERT_FILE,
      key: config.SCHEMA_REGISTRY_KEY_FILE,
    },
    authorization: token === undefined ? basic : `Bearer ${token}`,
  };
}

const requestTimeoutMs = 10_000;

/** The registry calls that we use. The registry only stores schemas and gives ids; our own code encodes and decodes. */
export function connectRegistry(target: RegistryAccess | string) {
  const { url, files = {}, authorization } = typeof target === 'string' ? { url: target } : target;
  const client = new SchemaRegistryClient({
    baseURLs: [url],
    cacheCapacity: 100,
    maxRetries: 5,
    retriesWaitMs: 200,
    retriesMaxWaitMs: 5_000,
    createAxiosDefaults: {
      timeout: requestTimeoutMs,
      proxy: false,
      httpsAgent: new FileAgent(files),
      ...(authorization === undefined ? {} : { headers: { common: { Authorization: authorization } } }),
    },
  });
  const guard = guardOf(url);
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

/** Makes the function that explains the errors of the registry at this address. */
function guardOf(url: string) {
  return async <Result>(subject: string, call: () => Promise<Result>): Promise<Result> => {
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
      throw engineError('schema registry', shownAddress(url), error);
    }
  };
}

/** Sends one request that Confluent's client does not have. It is not repeated. Resolves with any answer. */
export async function askRegistry(
  { url, files = {}, authorization }: RegistryAccess,
  method: string,
  path: string,
  body?: unknown,
): Promise<{ status: number; text: string }> {
  const isSecure = url.startsWith('https:');
  const request = (isSecure ? requestHttps : requestHttp)(`${url.replace(/\/+$/, '')}${path}`, {
    method,
    headers: {
      'content-type': 'application/vnd.schemaregistry.v1+json',
      ...(authorization === undefined ? {} : { authorization }),
    },
    signal: AbortSignal.timeout(requestTimeoutMs),
    ...(isSecure ? { agent: new FileAgent(files) } : {}),
  });
  request.end(body === undefined ? undefined : JSON.stringify(body));
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  return { status: response.statusCode ?? 0, text: await textOf(response) };
}

/** Asks for the list of subjects, which needs a right to read. The protocol of registries has no version. */
export function registryCheck(access: RegistryAccess): EngineCheck {
  const address = shownAddress(access.url);
  return {
    engine: 'schema registry',
    address,
    async ask() {
      const { status } = await askRegistry(access, 'GET', '/subjects');
      if (status !== 200) throw Object.assign(new Error(`it answers with the status ${status}`), { status });
      return null;
    },
  };
}

export function schemaIdFor(registry: SchemaRegistry, output: Output): Promise<number> {
  return registry.idOf(output.subject, schemaText(output.schema));
}

/** Whether two texts are the same schema. The registry may change the white space and the order of the keys. */
export function sameSchema(one: string, other: string): boolean {
  return isDeepStrictEqual(JSON.parse(one), JSON.parse(other));
}
