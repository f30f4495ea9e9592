import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { TestProject } from 'vitest/node';
import { startStack } from '../../../deploy/local/stack.ts';
import { makeTemplates } from '../engines/isolation.ts';

/** Starts PostgreSQL and ClickHouse, all that pages read from, before the journeys. Vitest calls the result after them. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const directory = mkdtempSync(path.join(tmpdir(), 'padron-pages-'));
  const stack = await startStack({ directory, engines: ['postgres', 'clickhouse'], log: () => undefined });
  await makeTemplates(stack.endpoints);
  project.provide('endpoints', stack.endpoints);
  return async () => {
    await stack.stop();
    rmSync(directory, { recursive: true, force: true });
  };
}
