import { Worker } from 'node:worker_threads';

/**
 * Starts a TypeScript module as a thread. On Node 20 a worker does not take over the loader that `--import tsx` set up
 * for its parent, whatever its `execArgv` says, so the thread registers it for itself and then imports the module.
 */
export function startThread(module: URL, workerData: unknown): Worker {
  const loader = JSON.stringify(import.meta.resolve('tsx/esm/api'));
  const target = JSON.stringify(module.href);
  const start = `import(${loader}).then(({ register }) => { register(); return import(${target}); });`;
  return new Worker(start, { eval: true, workerData });
}
