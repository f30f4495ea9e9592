import { fileURLToPath } from 'node:url';
import { bundleWorkflowCode, type Logger as TemporalLogger, type WorkflowBundle } from '@temporalio/worker';
import type { Logger } from '../pipelines/runtime/log.ts';

/** Bundles all workflows once. Otherwise each worker would spend seconds on a bundle for its own queue. */
export async function bundleWorkflows(log: Logger): Promise<WorkflowBundle> {
  const workflowsPath = fileURLToPath(new URL('./workflows.ts', import.meta.url));
  return await bundleWorkflowCode({ workflowsPath, logger: temporalLogger(log) });
}

/** Writes Temporal's log lines to our log. Temporal's levels are TRACE, DEBUG, INFO, WARN and ERROR. */
export function temporalLogger(log: Logger): TemporalLogger {
  const write = (level: 'trace' | 'debug' | 'info' | 'warn' | 'error', message: string, meta?: object) => {
    const { error, ...fields } = (meta ?? {}) as { error?: unknown };
    log[level]({ temporal: plain(fields), ...(error === undefined ? {} : { err: error }) }, message);
  };
  return {
    log: (level, message, meta) => write(level.toLowerCase() as 'info', message, meta),
    trace: (message, meta) => write('trace', message, meta),
    debug: (message, meta) => write('debug', message, meta),
    info: (message, meta) => write('info', message, meta),
    warn: (message, meta) => write('warn', message, meta),
    error: (message, meta) => write('error', message, meta),
  };
}

/** Turns bigints into texts. The fields of Temporal's log lines hold times as bigints, which JSON cannot express. */
function plain(fields: object): Record<string, unknown> {
  const texts = Object.entries(fields).map(([name, value]) => [
    name,
    typeof value === 'bigint' ? String(value) : value,
  ]);
  return Object.fromEntries(texts);
}
