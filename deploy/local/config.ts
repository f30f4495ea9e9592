import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, rmSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { parseConfiguration } from '../../pipelines/runtime/config.ts';
import { readJsonFile, writeJsonFile } from './process.ts';

/** The checkout that this file belongs to. Programs are fetched below it, and processes start in it. */
export const repositoryRoot = fileURLToPath(new URL('../..', import.meta.url));

/**
 * The engines' addresses, and the product's archive and work folders. The keys are the environment variables that the
 * product's processes read.
 */
export const endpointsSchema = z.object({
  /** `host:port`, comma-separated when there are several. */
  KAFKA_BROKERS: z.string(),
  /** Base address of the Confluent-compatible interface, without a slash at its end. */
  SCHEMA_REGISTRY_URL: z.string(),
  /** `http://user:password@host:port/database`. */
  CLICKHOUSE_URL: z.string(),
  /** `postgres://user:password@host:port/database`. */
  DATABASE_URL: z.string(),
  /** `host:port`. */
  TEMPORAL_ADDRESS: z.string(),
  TEMPORAL_UI_URL: z.string(),
  /** `file://` URL of the folder that holds the archive. */
  ARCHIVE_URL: z.string(),
  /** A folder for files that can be rebuilt. */
  WORK_DIR: z.string(),
});
export type Endpoints = z.infer<typeof endpointsSchema>;

const schema = endpointsSchema.partial().extend({
  PATH: z.string().default(''),
  /** Java's own variable: options for each engine that runs in Java. */
  JDK_JAVA_OPTIONS: z.string().default(''),
  PADRON_PROGRAMS_DIR: z.string().default(path.join(repositoryRoot, '.local', 'programs')),
  PADRON_LOCAL_DIR: z.string().default(path.join(repositoryRoot, '.local')),
});

/** Addresses of engines that run elsewhere. The engines at these addresses are used and not started. */
export type Addresses = Partial<Endpoints>;

interface LocalConfig {
  /** Folders to look in for programs, as in a shell's PATH. */
  searchPath: string;
  javaOptions: string;
  programsDirectory: string;
  /** The folder `.local`, which holds the data, run and programs folders of this checkout. */
  localDirectory: string;
  addresses: Addresses;
  /** All environment variables. The product's processes get them, so a person can set `SOURCE_…` or `LOG_LEVEL`. */
  environment: Record<string, string>;
}

/** Reads the environment of this process. @throws ConfigurationError that names every wrong setting */
export function readLocalConfig(environment: Record<string, string | undefined> = process.env): LocalConfig {
  const parsed = parseConfiguration(schema, environment);
  const { PATH, JDK_JAVA_OPTIONS, PADRON_PROGRAMS_DIR, PADRON_LOCAL_DIR, ...addresses } = parsed;
  const present = Object.entries(environment).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return {
    searchPath: PATH,
    javaOptions: JDK_JAVA_OPTIONS,
    programsDirectory: path.resolve(PADRON_PROGRAMS_DIR),
    localDirectory: path.resolve(PADRON_LOCAL_DIR),
    addresses,
    environment: Object.fromEntries(present),
  };
}

const credentialsSchema = z.object({
  postgresPassword: z.string().min(1),
  clickhousePassword: z.string().min(1),
  /** A key of 32 bytes in base64. The product encrypts the webhooks' secrets with it. */
  encryptionKey: z.string().min(1),
});

/** Secrets of a stack, made at its first start and kept in its folder. They are needed to read the stack's data. */
export type Credentials = z.infer<typeof credentialsSchema>;

export function readOrMakeCredentials(directory: string): Credentials {
  const file = path.join(directory, 'credentials.json');
  const kept = readJsonFile(file, credentialsSchema);
  if (kept) return kept;
  const made: Credentials = {
    postgresPassword: randomBytes(18).toString('hex'),
    clickhousePassword: randomBytes(18).toString('hex'),
    encryptionKey: randomBytes(32).toString('base64'),
  };
  writeJsonFile(file, made, 0o600);
  return made;
}

/** The content of `endpoints.json`. It has the product's addresses when `npm start` or the demo runs the product. */
const endpointsFileSchema = endpointsSchema.extend({
  PADRON_API_URL: z.string().optional(),
  OPERATOR_BASE_URL: z.string().optional(),
  PADRON_API_HEALTH_URL: z.string().optional(),
  PADRON_CONSUMERS_HEALTH_URL: z.string().optional(),
  PADRON_WORKER_HEALTH_URL: z.string().optional(),
});
type EndpointsFile = z.infer<typeof endpointsFileSchema>;

/** The addresses hold the engines' passwords, so only the owner may read the file. */
export function writeEndpoints(file: string, endpoints: EndpointsFile): void {
  mkdirSync(path.dirname(file), { recursive: true });
  writeJsonFile(file, endpoints, 0o600);
}

export function readEndpoints(file: string): EndpointsFile | undefined {
  return readJsonFile(file, endpointsFileSchema);
}

export function removeEndpoints(file: string): void {
  rmSync(file, { force: true });
}

/** Paths below `.local`, or below the folder that another stack uses instead (see `demoDirectory`). */
export function stackPaths(localDirectory: string) {
  return {
    /** Data, logs, ports and passwords of the engines. */
    data: path.join(localDirectory, 'data'),
    run: path.join(localDirectory, 'run'),
    /** The addresses of the running engines and product. The file exists only while they run. */
    endpointsFile: path.join(localDirectory, 'run', 'endpoints.json'),
  };
}

/** The demo has its own folder like `.local`, so that it never touches the data of `npm start`. */
export function demoDirectory(localDirectory: string): string {
  return path.join(localDirectory, 'demo');
}

/** The file with the running stack's addresses: the demo's file if only that one exists, else that of `npm start`. */
export function runningEndpointsFile(localDirectory: string): string {
  const [started, demo] = [localDirectory, demoDirectory(localDirectory)].map((at) => stackPaths(at).endpointsFile);
  return !existsSync(started!) && existsSync(demo!) ? demo! : started!;
}
