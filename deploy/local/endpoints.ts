import { rmSync } from 'node:fs';
import { z } from 'zod';
import { readJsonFile, writeJsonFile } from './files.ts';

/** Where the engines answer. The keys are the environment names that the product's processes read. */
export const endpointsSchema = z.object({
  /** `host:port`, comma-separated when there are several. */
  KAFKA_BROKERS: z.string(),
  /** Confluent-compatible base address, without a slash at its end. */
  SCHEMA_REGISTRY_URL: z.string(),
  /** `http://user:password@host:port/database`. */
  CLICKHOUSE_URL: z.string(),
  /** `postgres://user:password@host:port/database`. */
  DATABASE_URL: z.string(),
  /** `host:port`. */
  TEMPORAL_ADDRESS: z.string(),
  TEMPORAL_UI_URL: z.string(),
  /** `file://` folder. */
  ARCHIVE_URL: z.string(),
  /** A folder for what can be rebuilt. */
  WORK_DIR: z.string(),
});
export type Endpoints = z.infer<typeof endpointsSchema>;

/** What `endpoints.json` holds: the product's addresses are there when `npm start` or the demo runs it. */
const endpointsFileSchema = endpointsSchema.extend({
  PADRON_API_URL: z.string().optional(),
  PADRON_CONSUMERS_URL: z.string().optional(),
  PADRON_WORKER_URL: z.string().optional(),
});
export type EndpointsFile = z.infer<typeof endpointsFileSchema>;

// It names passwords of loopback engines: readable by its owner alone.
export function writeEndpoints(file: string, endpoints: EndpointsFile): void {
  writeJsonFile(file, endpoints, 0o600);
}

export function readEndpoints(file: string): EndpointsFile | undefined {
  return readJsonFile(file, endpointsFileSchema);
}

export function removeEndpoints(file: string): void {
  rmSync(file, { force: true });
}
