import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { TestProject } from 'vitest/node';
import { z } from 'zod';
import { type Endpoints, readEndpoints } from '../../../deploy/local/config.ts';
import { engineNames } from '../../../deploy/local/engines/context.ts';
import { startStack } from '../../../deploy/local/stack.ts';
import { makeTemplates } from './isolation.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    /** The addresses of the engines that all suites of a run share. Read them with `inject('endpoints')`. */
    endpoints: Endpoints;
  }
}

const configSchema = z.object({
  /** The `endpoints.json` of a running stack to use instead of starting one, for a fast inner loop. */
  PADRON_TEST_ENDPOINTS: z.string().min(1).optional(),
  /** The engines to start, separated by commas. All if omitted. */
  PADRON_TEST_ENGINES: z
    .string()
    .transform((names) => names.split(','))
    .pipe(z.array(z.enum(engineNames)))
    .optional(),
});

/** Starts the stack before the suites that use it. Vitest calls the returned function after them. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const config = configSchema.parse(process.env);
  if (config.PADRON_TEST_ENDPOINTS !== undefined) {
    const endpoints = readEndpoints(config.PADRON_TEST_ENDPOINTS);
    if (!endpoints) throw new Error(`${config.PADRON_TEST_ENDPOINTS} is not there or not the file of a running stack`);
    project.provide('endpoints', endpoints);
    return async () => undefined;
  }
  const directory = mkdtempSync(path.join(tmpdir(), 'padron-test-'));
  const stack = await startStack({
    directory,
    ...(config.PADRON_TEST_ENGINES ? { engines: config.PADRON_TEST_ENGINES } : {}),
    log: (line) => console.log(`stack: ${line}`),
  });
  await makeTemplates(stack.endpoints);
  project.provide('endpoints', stack.endpoints);
  return async () => {
    await stack.stop();
    rmSync(directory, { recursive: true, force: true });
  };
}
