import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { parseConfiguration } from '../../pipelines/runtime/config.ts';

/** The checkout that this file belongs to: programs are fetched below it and processes start in it. */
export const repositoryRoot = fileURLToPath(new URL('../..', import.meta.url));

const address = z.string().min(1).optional();

const schema = z.object({
  PATH: z.string().default(''),
  PADRON_PROGRAMS_DIR: z
    .string()
    .min(1)
    .default(path.join(repositoryRoot, '.local', 'programs')),
  PADRON_LOCAL_DIR: z.string().min(1).default(path.join(repositoryRoot, '.local')),
  KAFKA_BROKERS: address,
  SCHEMA_REGISTRY_URL: address,
  CLICKHOUSE_URL: address,
  DATABASE_URL: address,
  TEMPORAL_ADDRESS: address,
  TEMPORAL_UI_URL: address,
  ARCHIVE_URL: address,
  WORK_DIR: address,
});

/** What is already running elsewhere: an engine named here is used and not started. */
export type Addresses = Partial<Omit<z.infer<typeof schema>, 'PATH' | 'PADRON_PROGRAMS_DIR' | 'PADRON_LOCAL_DIR'>>;

export interface LocalConfig {
  /** Folders to look in for programs, as in a shell's PATH. */
  searchPath: string;
  programsDirectory: string;
  /** `.local`: data, run and programs of this checkout. */
  localDirectory: string;
  addresses: Addresses;
  /** All variables, for the product's processes: they get what a person set for them (`SOURCE_…`, `LOG_LEVEL`). */
  environment: Record<string, string>;
}

/**
 * Reads the environment of this process.
 * @throws ConfigurationError that names every wrong setting
 */
export function readLocalConfig(environment: Record<string, string | undefined> = process.env): LocalConfig {
  const parsed = parseConfiguration(schema, environment);
  const { PATH, PADRON_PROGRAMS_DIR, PADRON_LOCAL_DIR, ...addresses } = parsed;
  const present = Object.entries(environment).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return {
    searchPath: PATH,
    programsDirectory: path.resolve(PADRON_PROGRAMS_DIR),
    localDirectory: path.resolve(PADRON_LOCAL_DIR),
    addresses,
    environment: Object.fromEntries(present),
  };
}
