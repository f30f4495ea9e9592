import { readFileSync } from 'node:fs';
import { z } from 'zod';
import type { EgressPolicy } from './egress/policy.ts';
import { parseKeyRing, SecretError } from './secrets.ts';

/**
 * Configuration blocks. Each process composes the ones it uses, parses its environment once at its start and passes the
 * result down. Names are the environment's own, so that an error names what an operator has to set.
 */
const port = z.coerce.number().int().min(0).max(65_535);
const flag = z.enum(['0', '1', 'false', 'true']).transform((text) => text === '1' || text === 'true');
/** Whole milliseconds, seconds, bytes or counts, with bounds. */
export const wholeNumber = (least: number, most: number) => z.coerce.number().int().min(least).max(most);

export const processBlock = z.object({
  LOG_LEVEL: z.enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace']).default('info'),
  HTTP_HOST: z.string().default('127.0.0.1'),
  /** Health, metrics and, in the api, the public routes. 0 takes a free port. */
  HTTP_PORT: port.default(0),
  /** How long a stop may take before the process ends anyway. */
  STOP_DEADLINE_MS: wholeNumber(1_000, 600_000).default(20_000),
});

export const databaseBlock = z.object({
  DATABASE_URL: z.url({ protocol: /^postgres(ql)?$/ }),
  DATABASE_POOL_SIZE: wholeNumber(1, 200).default(10),
});

export const clickhouseBlock = z.object({ CLICKHOUSE_URL: z.url({ protocol: /^https?$/ }) });

export const kafkaBlock = z.object({
  /** host:port, several separated by commas */
  KAFKA_BROKERS: z.string().regex(/^[^\s,:]+:\d+(,[^\s,:]+:\d+)*$/, 'host:port, separated by commas'),
  /** Sets several installations on one cluster apart; part of topic names and consumer groups. */
  KAFKA_TOPIC_PREFIX: z
    .string()
    .regex(/^[a-z0-9._-]*$/)
    .default(''),
  SCHEMA_REGISTRY_URL: z.url({ protocol: /^https?$/ }),
});

export const temporalBlock = z.object({
  TEMPORAL_ADDRESS: z.string().regex(/^[^\s:]+:\d+$/, 'host:port'),
  TEMPORAL_NAMESPACE: z.string().min(1).default('default'),
});

export const archiveBlock = z.object({
  /** Where raw publications and change files are kept: file:///folder or s3://bucket/prefix (pipelines/archive/README.md). */
  ARCHIVE_URL: z.url({ protocol: /^(file|s3)$/ }),
  /** What can be rebuilt from the archive: index and row store of the difference. */
  WORK_DIR: z.string().min(1),
});

const egressBlock = z.object({
  /** Admits private and loopback addresses as targets: for tests and the demo only. */
  ALLOW_PRIVATE_TARGETS: flag.default(false),
  /** PEM file of one more certificate authority to trust. */
  EGRESS_EXTRA_CA: z.string().optional(),
});

export class ConfigurationError extends Error {
  override name = 'ConfigurationError';
  readonly code = 'configuration_invalid';
}

/**
 * Parses the environment by a schema. All that is wrong is said in one message, with the variable's name; values are
 * not repeated, since they may be secrets.
 * @throws ConfigurationError
 */
export function parseConfiguration<Schema extends z.ZodType>(
  schema: Schema,
  environment: Record<string, string | undefined>,
): z.output<Schema> {
  const present = Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== ''));
  const result = schema.safeParse(present);
  if (result.success) return result.data;
  const lines = result.error.issues.map((issue) => {
    const name = issue.path.join('.') || '(environment)';
    const missing = issue.code === 'invalid_type' && present[name] === undefined;
    return `  ${name}: ${missing ? 'is not set' : issue.message}`;
  });
  throw new ConfigurationError(`The configuration is not valid:\n${lines.join('\n')}`);
}

/**
 * The configuration of this process. One that is wrong ends it with code 1 before anything is opened; with `--check-config`
 * it ends when that is known.
 * @param check throws what the schema cannot say of two settings together
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

/** What the api (registering webhooks) and the worker (sending to them) must agree on. */
export const webhookBlock = z.object({
  ...egressBlock.shape,
  /** `id:base64-of-32-bytes`, the sealing key first, older ones after it, separated by commas. */
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
  /** Where callers reach the api: a webhook there would be a delivery loop. Without it addresses in answers are relative. */
  PUBLIC_BASE_URL: z
    .url({ protocol: /^https?$/ })
    .transform((url) => url.replace(/\/+$/, ''))
    .optional(),
});

/** @throws Error when the certificate file cannot be read */
export function webhookEgressPolicy(config: z.output<typeof webhookBlock>): EgressPolicy {
  return {
    allowPrivateTargets: config.ALLOW_PRIVATE_TARGETS,
    allowedPorts: config.WEBHOOK_PORTS,
    ...(config.PUBLIC_BASE_URL === undefined ? {} : { ownBaseUrls: [config.PUBLIC_BASE_URL] }),
    ...(config.EGRESS_EXTRA_CA === undefined ? {} : { extraCaPem: readFileSync(config.EGRESS_EXTRA_CA, 'utf8') }),
  };
}
