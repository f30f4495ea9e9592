import { join } from 'node:path';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { header } from '../../../pipelines/registers/padron-reducido.ts';
import { rebuild } from '../../../pipelines/replay/rebuild.ts';
import { type RunningApi, startApi } from '../../support/api/process.ts';
import { inventedRuc } from '../../support/engines/stream.ts';
import { makeTcpProxy, type TcpProxy } from '../../support/engines/tcp-proxy.ts';
import { writeLines } from '../../support/registers/lines.ts';
import { ReplayHarness } from '../../support/registers/replay-harness.ts';

// The real API process over a register that went all the way, and a ClickHouse that comes back without some of its rows.
let harness: ReplayHarness;
let clickhouseLine: TcpProxy;
let api: RunningApi;

beforeAll(async () => {
  harness = await ReplayHarness.start(inject('endpoints'), ['padron_reducido']);
  const path = join(harness.stream.folder, 'day.zip');
  const cells = 'EMPRESA DE PRUEBA S.A.C.|ACTIVO|HABIDO|150101|-|-|-|-|-|-|-|-|-|-|';
  const lines = Array.from({ length: 50 }, (_, number) => `${inventedRuc(number)}|${cells}`);
  await writeLines(path, [header, ...lines], '\n');
  await harness.publish('padron_reducido', path, '2026-11-21');
  const { DATABASE_URL, CLICKHOUSE_URL } = harness.stream.environment;
  clickhouseLine = await makeTcpProxy(CLICKHOUSE_URL!);
  const environment = { DATABASE_URL: DATABASE_URL!, CLICKHOUSE_URL: clickhouseLine.url };
  api = await startApi({ ...environment, REQUIRED_REGISTERS: 'padron_reducido' });
});
afterAll(async () => {
  await api?.stop();
  await clickhouseLine?.stop();
  await harness?.close();
});

async function readiness(): Promise<string> {
  const response = await fetch(`${api.healthUrl}/readyz`);
  const answer = (await response.json()) as { status: string; reason?: string };
  return `${response.status} ${answer.reason ?? answer.status}`;
}

/**
 * Asks until the process has looked. A probe is answered after three seconds, and a loss is counted twice, five seconds
 * apart. Until then the process must not say that it is ready.
 */
async function readinessOnceLooked(): Promise<string> {
  for (;;) {
    const answer = await readiness();
    if (answer !== '503 no answer within 3000 ms') return answer;
  }
}

const logged = (text: string): number =>
  api
    .output()
    .split('\n')
    .filter((line) => line.includes(text)).length;

const loss =
  'clickhouse_behind: ClickHouse ends at edition 0 of padron_reducido, and the catalogue serves 1: ' +
  'run `npx padron rebuild --register padron_reducido`';

test('/readyz names what ClickHouse lost while it was away, and is true again after the rebuild', async () => {
  expect(await readiness()).toBe('200 ok');
  await clickhouseLine.cut();
  expect(await readiness()).toBe('503 ClickHouse does not answer');
  const { clickhouse } = harness.stream;
  await clickhouse.command({ query: 'TRUNCATE TABLE taxpayer' });
  await clickhouseLine.mend();
  expect(await readinessOnceLooked()).toBe(`503 ${loss}`);
  expect(await readiness()).toBe(`503 ${loss}`);
  const parts = { ...harness.planDependencies(), clickhouse };
  await rebuild(parts, ['padron_reducido'], () => {}, new AbortController().signal);
  await clickhouseLine.cut();
  expect(await readiness()).toBe('503 ClickHouse does not answer');
  await clickhouseLine.mend();
  expect(await readinessOnceLooked()).toBe('200 ok');
  // Log lines come through a pipe, so the last ones may arrive after the answer.
  await expect.poll(() => logged('ClickHouse has all served data again')).toBe(1);
  expect(logged(loss)).toBe(1);
});
