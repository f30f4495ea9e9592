import { readFileSync } from 'node:fs';
import { z } from 'zod';
import type { EgressPolicy } from './egress/policy.ts';
import { settingProblems } from './engines/settings.ts';
import { replicaFields, withReplicaAddress } from './replica-settings.ts';
import { parseKeyRing, SecretError } from './secrets.ts';

/*
 * Blocks of configuration. Each process combines the blocks that it uses, parses its environment once at its start, and
 * passes the result down. Fields have the names of environment variables, so an error names what an operator must set.
 */

const flag = z.enum(['0', '1', 'false', 'true']).transform((text) => text === '1' || text === 'true');
export const wholeNumber = (least: number, most: number) => z.coerce.number().int().min(least).max(most);

export const processBlock = z.object({
  LOG_LEVEL: z.enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace']).default('info'),
  /**
   * Address and port of /healthz, /readyz and /metrics. They are for supervisors and Prometheus and must not be public.
   * Port 0 means any free port; the line `listening` of the log names it.
   */
  HEALTH_HOST: z.string().default('127.0.0.1'),
  HEALTH_PORT: wholeNumber(0, 65_535).default(0),
  /** How long a stop may take before the process ends anyway. A supervisor must wait longer before it kills. */
  STOP_DEADLINE_MS: wholeNumber(1_000, 600_000).default(20_000),
});

export const databaseBlock = z.object({
  /** Its parameters `sslmode`, `sslrootcert`, `sslcert` and `sslkey` are those of PostgreSQL's own programs. */
  DATABASE_URL: z.url({ protocol: /^postgres(ql)?$/ }),
  DATABASE_POOL_SIZE: wholeNumber(1, 200).default(10),
});

/** The user of `padron migrate`, who owns the tables. Without it, DATABASE_URL's user is also that one. */
export const migrationBlock = z.object({ MIGRATION_DATABASE_URL: databaseBlock.shape.DATABASE_URL.optional() });

export const clickhouseBlock = z.object({
  /** Address of the HTTP interface with the database as path. It may hold user and password. */
  CLICKHOUSE_URL: z.url({ protocol: /^https?$/ }),
  ...replicaFields,
  /** PEM file of the authorities to trust instead of the usual ones, for an address that begins with https. */
  CLICKHOUSE_CA_FILE: z.string().optional(),
  /** User and password, where they are not in the address. */
  CLICKHOUSE_USERNAME: z.string().optional(),
  CLICKHOUSE_PASSWORD: z.string().optional(),
  /** Database engine of a database that `padron migrate` makes. Without it the server decides. */
  CLICKHOUSE_DATABASE_ENGINE: z.string().optional(),
  /** Reads wait for what other replicas of the server's own replication acknowledged. */
  CLICKHOUSE_SEQUENTIAL_CONSISTENCY: flag.default(false),
  /** Tables are replicated by ClickHouse itself, in a database of the engine Replicated. */
  CLICKHOUSE_REPLICATED: flag.default(false),
});
export type ClickhouseConfiguration = z.output<typeof clickhouseBlock>;

/** Settings of the schema registry. Its TLS files are only read when the address begins with https. */
export const registryBlock = z.object({
  SCHEMA_REGISTRY_URL: z.url({ protocol: /^https?$/ }),
  /** PEM file of the authorities to trust instead of the usual ones. */
  SCHEMA_REGISTRY_CA_FILE: z.string().optional(),
  /** PEM files of the client certificate and its key, where the registry asks for one. */
  SCHEMA_REGISTRY_CERT_FILE: z.string().optional(),
  SCHEMA_REGISTRY_KEY_FILE: z.string().optional(),
  SCHEMA_REGISTRY_USERNAME: z.string().optional(),
  SCHEMA_REGISTRY_PASSWORD: z.string().optional(),
  /** Bearer token, instead of user and password. */
  SCHEMA_REGISTRY_TOKEN: z.string().optional(),
});
export type RegistryConfiguration = z.output<typeof registryBlock>;

export const kafkaBlock = z.object({
  /** Brokers as host:port, separated by commas. */
  KAFKA_BROKERS: z.string().regex(/^[^\s,:]+:\d+(,[^\s,:]+:\d+)*$/, 'host:port, separated by commas'),
  /** Prefix of the names of topics and consumer groups, so that several installations can share a cluster. */
  KAFKA_TOPIC_PREFIX: z
    .string()
    .regex(/^[a-z0-9._-]*$/)
    .default(''),
  /** Whether connections to the brokers use TLS. */
  KAFKA_TLS: flag.default(false),
  /** PEM file of the authorities that sign the brokers' certificates. Without it, the usual authorities are trusted. */
  KAFKA_TLS_CA_FILE: z.string().min(1).optional(),
  /** PEM files of our certificate and its key. Only brokers that ask their clients for a certificate need them. */
  KAFKA_TLS_CERT_FILE: z.string().min(1).optional(),
  KAFKA_TLS_KEY_FILE: z.string().min(1).optional(),
  /** How clients log in to the brokers. Without it there is no login. */
  KAFKA_SASL_MECHANISM: z.enum(['plain', 'scram-sha-256', 'scram-sha-512', 'oauthbearer']).optional(),
  /** The login of `plain` and `scram-…`. */
  KAFKA_SASL_USERNAME: z.string().min(1).optional(),
  KAFKA_SASL_PASSWORD: z.string().min(1).optional(),
  /** Where the login of `oauthbearer` gets its tokens, by the OAuth grant of client credentials. */
  KAFKA_OAUTH_TOKEN_URL: z.url({ protocol: /^https?$/ }).optional(),
  KAFKA_OAUTH_CLIENT_ID: z.string().min(1).optional(),
  KAFKA_OAUTH_CLIENT_SECRET: z.string().min(1).optional(),
  KAFKA_OAUTH_SCOPE: z.string().min(1).optional(),
  ...registryBlock.shape,
});

export const temporalBlock = z.object({
  TEMPORAL_ADDRESS: z.string().regex(/^[^\s:]+:\d+$/, 'host:port'),
  TEMPORAL_NAMESPACE: z.string().min(1).default('default'),
  /** Whether connections use TLS. */
  TEMPORAL_TLS: flag.default(false),
  /** PEM file of the authorities to trust instead of the usual ones. */
  TEMPORAL_TLS_CA_FILE: z.string().optional(),
  /** PEM files of the client certificate and its key, where the server asks for one. */
  TEMPORAL_TLS_CERT_FILE: z.string().optional(),
  TEMPORAL_TLS_KEY_FILE: z.string().optional(),
  /** The name that the server's certificate has, where it is not the address. */
  TEMPORAL_TLS_SERVER_NAME: z.string().optional(),
  /** API key, for example of Temporal Cloud. It is sent only over TLS. */
  TEMPORAL_API_KEY: z.string().optional(),
});
export type TemporalConfiguration = z.output<typeof temporalBlock>;

export const archiveBlock = z.object({
  /** Where publications and change files are kept: file:///folder or s3://bucket/prefix (see pipelines/archive). */
  ARCHIVE_URL: z.url({ protocol: /^(file|s3)$/ }),
  /**
   * Folder of the working files of pipelines/diff (index and row store). With an archive in S3, the folder also holds
   * unfinished downloads and local copies of objects. All of these files can be rebuilt or fetched again.
   */
  WORK_DIR: z.string().min(1),
});

/** Settings of webhooks. The api checks addresses by them and the worker sends by them, so both need equal values. */
export const webhookBlock = z.object({
  /** Allows private and loopback addresses as targets. Only tests and the demo set it. */
  ALLOW_PRIVATE_TARGETS: flag.default(false),
  /** PEM file of a certificate authority that deliveries trust besides the usual ones. */
  EGRESS_EXTRA_CA: z.string().optional(),
  /** Keys as `id:base64-of-32-bytes`, separated by commas. The first key seals secrets; all keys open them. */
  WEBHOOK_SECRET_KEYS: z.string().transform((text, context) => {
    try {
      return parseKeyRing(text);
    } catch (error) {
      context.addIssue({ code: 'custom', message: error instanceof SecretError ? error.message : 'not a key ring' });
      return z.NEVER;
    }
  }),
  /** Ports that a webhook's URL may name, separated by commas. */
  WEBHOOK_PORTS: z
    .string()
    .regex(/^[0-9]{1,5}(,[0-9]{1,5})*$/, 'port numbers, separated by commas')
    .default('443,8443')
    .transform((text) => text.split(',').map(Number)),
  /**
   * Public address of the api. A webhook at its host is refused, because its deliveries would form a loop. Without this
   * setting, addresses in answers are relative.
   */
  PUBLIC_BASE_URL: z
    .url({ protocol: /^https?$/ })
    .transform((url) => url.replace(/\/+$/, ''))
    .optional(),
});

/**
 * Settings of traces, under OpenTelemetry's own names, which operators may know from other programs. OpenTelemetry's
 * library also reads variables that are not in this list: `OTEL_RESOURCE_ATTRIBUTES` and further variables of the
 * exporter (`OTEL_EXPORTER_OTLP_COMPRESSION`, `…_CERTIFICATE`).
 */
export const tracingBlock = z.object({
  /** Base address of a collector for OTLP over HTTP. `/v1/traces` is added to it. Without it there are no traces. */
  OTEL_EXPORTER_OTLP_ENDPOINT: z.url({ protocol: /^https?$/ }).optional(),
  OTEL_EXPORTER_OTLP_PROTOCOL: z.enum(['http/protobuf', 'http/json']).default('http/protobuf'),
  /** HTTP headers of every export: `name=value,…`, values percent-encoded. They may hold a secret key. */
  OTEL_EXPORTER_OTLP_HEADERS: z
    .string()
    .regex(/^\s*[^\s=,]+\s*=[^,]*(,\s*[^\s=,]+\s*=[^,]*)*$/, 'name=value, separated by commas')
    .optional(),
  /** Which traces are kept. `parentbased_…` obeys a caller's `traceparent` header; the others ignore it. */
  OTEL_TRACES_SAMPLER: z
    .enum([
      'always_on',
      'always_off',
      'traceidratio',
      'parentbased_always_on',
      'parentbased_always_off',
      'parentbased_traceidratio',
    ])
    .default('parentbased_always_on'),
  /** The share of traces that `…traceidratio` keeps. */
  OTEL_TRACES_SAMPLER_ARG: z.coerce.number().min(0).max(1).default(1),
});
export type TracingConfiguration = z.output<typeof tracingBlock>;

export class ConfigurationError extends Error {
  override name = 'ConfigurationError';
  readonly code = 'configuration_invalid';
}

/**
 * Parses the environment by a schema. The error's message names every wrong variable, but no values, because values may
 * be secrets.
 * @throws ConfigurationError
 */
export function parseConfiguration<Schema extends z.ZodType>(
  schema: Schema,
  environment: Record<string, string | undefined>,
): z.output<Schema> {
  const set = Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== ''));
  const present = withReplicaAddress(set);
  const result = schema.safeParse(present);
  const problems = result.success
    ? settingProblems(result.data)
    : result.error.issues.map((issue) => {
        const name = issue.path.join('.') || '(environment)';
        const missing = issue.code === 'invalid_type' && present[name] === undefined;
        return `${name}: ${missing ? 'is not set' : issue.message}`;
      });
  if (result.success && problems.length === 0) return result.data;
  throw new ConfigurationError(`The configuration is not valid:\n${problems.map((line) => `  ${line}`).join('\n')}`);
}

/**
 * Reads the configuration of this process. A wrong configuration ends the process with code 1, before the process opens
 * anything. With `--check-config`, a right configuration ends the process with code 0.
 * @param check throws for an error that a schema cannot express, such as two settings that exclude each other
 */
export function readConfiguration<Schema extends z.ZodType>(
  schema: Schema,
  check: (configuration: z.output<Schema>) => unknown = () => {},
): z.output<Schema> {
  try {
    const configuration = parseConfiguration(schema, process.env);
    check(configuration);
    if (!process.argv.includes('--check-config')) return configuration;
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    process.exit(1);
  }
  process.stdout.write('configuration ok\n');
  process.exit(0);
}

/** @throws Error when the file of EGRESS_EXTRA_CA cannot be read */
export function webhookEgressPolicy(config: z.output<typeof webhookBlock>): EgressPolicy {
  return {
    allowPrivateTargets: config.ALLOW_PRIVATE_TARGETS,
    allowedPorts: config.WEBHOOK_PORTS,
    ...(config.PUBLIC_BASE_URL === undefined ? {} : { ownBaseUrls: [config.PUBLIC_BASE_URL] }),
    ...(config.EGRESS_EXTRA_CA === undefined ? {} : { extraCaPem: readFileSync(config.EGRESS_EXTRA_CA, 'utf8') }),
  };
}
