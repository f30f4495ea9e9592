import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readUse } from '../../../api/metering/ledger.ts';
import { monthOf } from '../../../api/metering/minute-limits.ts';
import { batchAnswer } from '../../../schemas/http/batch.ts';
import { makeCaller, type RunningApi, requestsOf, startApi, type TestCaller } from '../../support/api/process.ts';
import { type Surroundings, startSurroundings } from '../../support/api/surroundings.ts';
import { insertEdition, insertTaxpayers, untilCatalogueIsRead } from '../../support/registers/served-register.ts';

// A batch under a key is interrupted before, during or after the commit of its answer and charge. A caller that repeats
// it must get one answer and be charged once.

const rucs = ['20990000019', '20990000043', '20131312955'];
const foundRucs = 2;
const leaseMs = 1_500;

let around: Surroundings;
let settings: Record<string, string>;

beforeAll(async () => {
  around = await startSurroundings({ IDEMPOTENCY_LEASE_MS: String(leaseMs) });
  settings = {
    DATABASE_URL: around.databaseUrl,
    CLICKHOUSE_URL: around.clickhouseLine.url,
    IDEMPOTENCY_LEASE_MS: String(leaseMs),
  };
  await insertTaxpayers(
    around.clickhouse,
    rucs.slice(0, foundRucs).map((ruc) => ({ line: `${ruc}|ACME S.A.|ACTIVO|HABIDO|150122|-|-|-|-|-|-|-|-|-|-|` })),
  );
  await insertEdition(around.pool, { number: 1, fechaDato: '2026-11-26' });
  await untilCatalogueIsRead();
});
afterAll(() => around?.stop());

/** Null: the connection broke. */
async function send(url: string, { token }: TestCaller, key: string): Promise<Response | null> {
  const headers = { 'idempotency-key': key };
  const request = requestsOf(url, token)('/id/v1/ruc/batch', { method: 'POST', json: { rucs }, headers });
  return await request.catch(() => null);
}

/** Repeats the request until there is an answer, as a client does. */
async function sendUntilAnswered(url: string, by: TestCaller, key: string): Promise<string> {
  for (;;) {
    const response = await send(url, by, key);
    const text = await response?.text().catch(() => null);
    if (response?.status === 200 && text != null) return text;
    // Only these may come meanwhile: another request runs, or a store is down.
    expect([409, 503, undefined]).toContain(response?.status);
    await sleep(100);
  }
}

async function expectChargedOnce({ accountId }: TestCaller, batches: number): Promise<void> {
  const used = async () => (await readUse(around.pool, accountId, monthOf(Date.now()).firstDay))?.used;
  // A charge that was committed late would be there by then.
  await sleep(1_300);
  expect(await used()).toBe(batches * foundRucs);
}

const undisturbed = 6;

/** The shortest time of an undisturbed batch, so that the interruptions fall within one. */
async function undisturbedMs(url: string, by: TestCaller): Promise<number> {
  let shortestMs = Number.POSITIVE_INFINITY;
  for (let number = 0; number < undisturbed; number += 1) {
    const startedMs = performance.now();
    await sendUntilAnswered(url, by, `entera-${number}`);
    shortestMs = Math.min(shortestMs, performance.now() - startedMs);
  }
  return shortestMs;
}

test('PostgreSQL is cut off at any moment of a batch', async () => {
  const by = await makeCaller(around.pool, around.api.url);
  const { url } = around.api;
  const wholeMs = await undisturbedMs(url, by);
  const rounds = 25;
  for (let round = 0; round < rounds; round += 1) {
    const broken = send(url, by, `corte-${round}`);
    await sleep((wholeMs * 1.3 * round) / rounds);
    await around.postgresLine.cut();
    const response = await broken;
    const first = response?.status === 200 ? await response.text() : null;
    await around.postgresLine.mend();
    const answer = await sendUntilAnswered(url, by, `corte-${round}`);
    if (first !== null) expect(answer).toBe(first);
    expect(await sendUntilAnswered(url, by, `corte-${round}`)).toBe(answer);
    expect(batchAnswer.parse(JSON.parse(answer)).meta.cobrados).toBe(foundRucs);
  }
  await expectChargedOnce(by, rounds + undisturbed);
});

test('the process is killed at any moment of a batch', { timeout: 300_000 }, async () => {
  const by = await makeCaller(around.pool, around.api.url);
  const wholeMs = await undisturbedMs(around.api.url, by);
  const rounds = 5;
  for (let round = 0; round < rounds; round += 1) {
    const doomed: RunningApi = await startApi(settings);
    // Opens the connections and makes the token known.
    await sendUntilAnswered(doomed.url, by, 'entera-0');
    const broken = send(doomed.url, by, `muerte-${round}`);
    await sleep((wholeMs * 1.3 * round) / rounds);
    process.kill(doomed.pid, 'SIGKILL');
    const response = await broken;
    const first = response?.status === 200 ? await response.text().catch(() => null) : null;
    const answer = await sendUntilAnswered(around.api.url, by, `muerte-${round}`);
    if (first !== null) expect(answer).toBe(first);
  }
  await expectChargedOnce(by, rounds + undisturbed);
});
