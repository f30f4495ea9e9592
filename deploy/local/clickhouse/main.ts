import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { Command } from 'commander';
import { z } from 'zod';
import { type Engine, openEngine } from './engine.ts';
import { defaultLimits, limitsSchema, threadPoolSize } from './limits.ts';
import { makeServer } from './server.ts';

const lookAgainMs = 20;

/**
 * Refuses new requests, waits for running queries, kills them after drainTimeoutMs, and closes the engine. Returns
 * false if a killed query still runs. The engine then stays open, because closing it would abort the process. The
 * caller must then end the process. No acknowledged insert is lost by that.
 */
async function stop(server: Server, engine: Engine): Promise<boolean> {
  const { drainTimeoutMs } = engine.limits;
  const { runs } = engine;
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  server.closeIdleConnections();
  const drained = await within(drainTimeoutMs, () => runs.running.size === 0);
  if (!drained) {
    for (const run of runs.running) void runs.kill(run);
    if (!(await within(drainTimeoutMs, () => runs.running.size === 0))) return false;
  }
  // Answers that are being written get one second, if all queries ended in time. Then all connections are closed.
  await Promise.race([closed, sleep(drained ? 1_000 : 0)]);
  server.closeAllConnections();
  await within(drainTimeoutMs, () => runs.running.size === 0);
  engine.close();
  return true;
}

async function within(timeoutMs: number, done: () => boolean): Promise<boolean> {
  const deadline = Date.now() + timeoutMs;
  while (!done() && Date.now() < deadline) await sleep(lookAgainMs);
  return done();
}

const optionsSchema = z.object({
  data: z.string().min(1),
  port: z.coerce.number().int().min(0).max(65_535),
  user: z.string().min(1),
  password: z.string().min(1),
  limits: z
    .string()
    .transform((text, context) => {
      try {
        return JSON.parse(text) as unknown;
      } catch {
        context.addIssue({ code: 'custom', message: 'not JSON' });
        return z.NEVER;
      }
    })
    .pipe(limitsSchema),
  database: z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'letters, digits and _ only'),
});

const program = new Command('clickhouse')
  .description('The ClickHouse HTTP interface on 127.0.0.1 over the embedded engine (chDB), for one data directory.')
  .requiredOption('--data <directory>', 'data directory, made if it is missing; one process only may use it')
  .option('--port <number>', 'port on 127.0.0.1; 0 takes a free one', '8123')
  .requiredOption('--user <name>', 'the only account')
  .requiredOption('--password <text>', 'its password')
  .option('--database <name>', 'made at the start if it is missing', 'padron')
  .option('--limits <json>', 'replaces some of the limits, see limits.ts', '{}')
  .parse();

const parsed = optionsSchema.safeParse(program.opts());
if (!parsed.success) {
  process.stderr.write(`clickhouse: ${z.prettifyError(parsed.error)}\n`);
  process.exit(2);
}

// libuv reads UV_THREADPOOL_SIZE when its first thread starts, which is before this line. Setting it here is too late.
if (process.env.UV_THREADPOOL_SIZE !== String(threadPoolSize)) {
  process.stderr.write(`clickhouse: run it with UV_THREADPOOL_SIZE=${threadPoolSize} in its environment\n`);
  process.exit(2);
}

const { data, port, user, password, database, limits } = parsed.data;
const engine = await openEngine(data, database, { ...defaultLimits, ...limits }).catch((error: Error) => {
  process.stderr.write(`clickhouse: ${error.message}\n`);
  process.exit(1);
});
const server = makeServer(engine, { user, password });
server.once('error', (error) => {
  process.stderr.write(`clickhouse: cannot listen on 127.0.0.1:${port}: ${error.message}\n`);
  process.exit(1);
});
let stopping = false;
const end = () => {
  if (stopping) return;
  stopping = true;
  void stop(server, engine).then((clean) => {
    if (clean) process.exit(0);
    // process.exit would wait for the engine's threads for ever.
    process.stderr.write('clickhouse: a query did not end, the process is killed; nothing acknowledged is lost\n');
    process.kill(process.pid, 'SIGKILL');
  });
};
process.on('SIGTERM', end);
process.on('SIGINT', end);
server.listen(port, '127.0.0.1', () => {
  const address = server.address() as AddressInfo;
  process.stdout.write(`clickhouse: engine ${engine.version} answers on http://127.0.0.1:${address.port}/\n`);
});
