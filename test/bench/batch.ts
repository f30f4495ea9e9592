import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { operations } from '../../api/operations.ts';
import { maxBatchRucs } from '../../schemas/http/batch.ts';
import { startApi } from '../support/api/process.ts';
import { numberOption } from '../support/process/named-runs.ts';
import { describeMachine, quantile } from './figures.ts';
import { openConnection } from './look-up-callers.ts';
import { rucOf } from './look-up-rows.ts';
import { serveTaxpayers } from './look-up-stage.ts';
import { onOwnStack } from './own-stack.ts';
import { ProcessWatch } from './process-watch.ts';

const warmUpSeconds = 2;
const goalP99Ms = 60;

interface Load {
  callers: number;
  /** True if each batch has its own Idempotency-Key, so that its answer is stored. */
  isKept: boolean;
}

/**
 * `--rows N` (2,000,000), `--seconds S` (10). Sends batches of 100 random RUCs through the API on its own stack, first
 * by one caller, then by four at once. Records are made of four registers; quota and minute limits are counted.
 */
export async function run(args: string[]): Promise<void> {
  const rows = numberOption(args, 'rows', 2_000_000);
  const seconds = numberOption(args, 'seconds', 10);
  console.log(`machine: ${describeMachine()}`);
  await onOwnStack('batch', ['postgres', 'clickhouse'], async ({ endpoints }) => {
    const [token] = (await serveTaxpayers(endpoints, rows)) as [string];
    const { CLICKHOUSE_URL, DATABASE_URL } = endpoints;
    const api = await startApi({ CLICKHOUSE_URL, DATABASE_URL });
    try {
      for (const callers of [1, 4])
        for (const isKept of [false, true]) await measure(api.url, token, rows, seconds, { callers, isKept });
    } finally {
      await api.stop();
    }
  });
}

async function measure(url: string, token: string, rows: number, seconds: number, load: Load): Promise<void> {
  const { hostname, port } = new URL(url);
  const latencies: number[] = [];
  let wrong = 0;
  const startsAt = performance.now() + warmUpSeconds * 1_000;
  const endsAt = startsAt + seconds * 1_000;
  const caller = async () => {
    const connection = await openConnection(hostname, Number(port));
    while (performance.now() < endsAt) {
      const request = requestOf(hostname, token, rows, load);
      const sentAt = performance.now();
      const answer = await connection.ask(request);
      const answeredAt = performance.now();
      if (sentAt < startsAt) continue;
      latencies.push(answeredAt - sentAt);
      const isRight = answer.startsWith('HTTP/1.1 200') && answer.includes(`"encontrados":${maxBatchRucs}`);
      if (!isRight) wrong += 1;
    }
    connection.socket.destroy();
  };
  const callers = Array.from({ length: load.callers }, caller);
  await sleep(warmUpSeconds * 1_000);
  const watch = new ProcessWatch();
  await Promise.all(callers);
  const cpu = [...watch.stop()].map(
    ([name, used]) => `${name} ${((used.cpuSeconds * 1e3) / latencies.length).toFixed(1)}`,
  );
  print(latencies, wrong, seconds, load);
  console.log(`  CPU ms per batch: ${cpu.join(', ')}`);
  if (wrong > 0) process.exitCode = 1;
}

function requestOf(host: string, token: string, rows: number, { isKept }: Load): string {
  const rucs = Array.from({ length: maxBatchRucs }, () => rucOf(Math.floor(Math.random() * rows), rows));
  const body = JSON.stringify({ rucs });
  const key = isKept ? `Idempotency-Key: ${randomUUID()}\r\n` : '';
  return (
    `POST ${operations.consultarLote.path} HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${token}\r\n${key}` +
    `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`
  );
}

function print(latencies: readonly number[], wrong: number, seconds: number, { callers, isKept }: Load): void {
  const p99Ms = quantile(0.99, latencies);
  const perSecond = latencies.length / seconds;
  console.log(
    `\n${callers === 1 ? 'one after another' : `${callers} at once`}${isKept ? ', answers kept under a key' : ''}: ` +
      `${perSecond.toFixed(1)} batches/s (${Math.round(perSecond * maxBatchRucs)} records/s), ` +
      `p50 ${quantile(0.5, latencies).toFixed(1)} ms, p99 ${p99Ms.toFixed(1)} ms; ${latencies.length} answers, ${wrong} wrong`,
  );
  if (callers === 1) console.log(`goal p99 ≤ ${goalP99Ms} ms: ${p99Ms <= goalP99Ms ? 'met' : 'missed'}`);
}
