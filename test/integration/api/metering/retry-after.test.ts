import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { createToken } from '../../../../api/accounts/tokens.ts';
import { readUse } from '../../../../api/metering/ledger.ts';
import { freshMs } from '../../../../api/metering/meter.ts';
import { accountAnswer } from '../../../../schemas/http/account.ts';
import { makePayer } from '../../../support/api/meters.ts';
import { type MovableApis, startMovableApis } from '../../../support/api/movable-api.ts';
import { expectProblem, requestsOf, type TestCaller } from '../../../support/api/process.ts';
import { type Surroundings, startSurroundings } from '../../../support/api/surroundings.ts';
import { insertEdition, insertTaxpayers, untilCatalogueIsRead } from '../../../support/registers/served-register.ts';

// A caller who waits as long as a 429 says is answered. The test moves the clocks of the processes on.

const company = '20990000019';
const unknown = '20131312955';
const path = `/id/v1/ruc/${company}`;

let around: Surroundings;
let movable: MovableApis;

beforeAll(async () => {
  around = await startSurroundings({ REQUIRED_REGISTERS: 'padron_reducido' });
  const cells = 'COMERCIAL PRUEBA UNO S.A.C.|ACTIVO|HABIDO|150122|-|-|-|-|-|-|-|-|-|-|';
  await insertTaxpayers(around.clickhouse, [{ line: `${company}|${cells}` }]);
  await insertEdition(around.pool, { number: 1, fechaDato: '2026-11-26' });
  await untilCatalogueIsRead();
});
afterEach(() => movable?.stop());
afterAll(() => around.stop());

async function customerAt(
  startMs: number,
  perMonth: number,
  perMinute?: number,
): Promise<{ accountId: number; at: TestCaller['request'][] }> {
  const { databaseUrl: DATABASE_URL, clickhouseLine } = around;
  movable = await startMovableApis(2, { DATABASE_URL, CLICKHOUSE_URL: clickhouseLine.url }, startMs);
  const { accountId } = await makePayer(around.pool, perMonth, perMinute);
  const { token } = (await createToken(around.pool, accountId))!;
  return { accountId, at: movable.apis.map(({ url }) => requestsOf(url, token)) };
}

/** Forty callers ask all processes until each of them is refused. Resolves with the number of records they got. */
async function askUntilRefused(at: readonly TestCaller['request'][]): Promise<number> {
  let found = 0;
  const caller = async (first: number) => {
    for (let number = first; ; number += 1) {
      const response = await at[number % at.length]!(number % 7 === 0 ? `/id/v1/ruc/${unknown}` : path);
      if (response.status === 200) found += 1;
      if (response.status === 429) return void (await expectProblem(response, 'cuota_agotada'));
      await response.arrayBuffer();
    }
  };
  await Promise.all(Array.from({ length: 40 }, (_, number) => caller(number)));
  return found;
}

test('the quota begins anew at midnight in Lima, at every process, when the 429 said it would', async () => {
  // A slow machine must not reach midnight before the quota is used up.
  const { accountId, at } = await customerAt(Date.parse('2026-12-31T23:30:00-05:00'), 100);
  const midnightMs = Date.parse('2027-01-01T00:00:00-05:00');
  expect(await askUntilRefused(at)).toBe(100);
  // By then no process remembers a refusal.
  await sleep(freshMs + 500);
  const refused = await at[0]!(path);
  const waitSeconds = Number(refused.headers.get('retry-after'));
  const leftSeconds = (midnightMs - movable.nowMs()) / 1_000;
  expect(Math.abs(waitSeconds - leftSeconds)).toBeLessThan(60);
  expect(await expectProblem(refused, 'cuota_agotada')).toMatchObject({ disponible: 0 });

  await movable.moveOn(leftSeconds * 1_000 - 120_000);
  await expectProblem(await at[1]!(path), 'cuota_agotada');
  await movable.moveOn(midnightMs - movable.nowMs());
  expect(await askUntilRefused(at)).toBe(100);
  const { data } = accountAnswer.parse(await (await at[0]!('/id/v1/cuenta')).json());
  expect(data.cuota.reinicia_en).toBe('2027-02-01T00:00:00-05:00');
  const used = async (month: string) => (await readUse(around.pool, accountId, month))?.used;
  await expect
    .poll(async () => [await used('2026-12-01'), await used('2027-01-01')], { timeout: 10_000 })
    .toEqual([100, 100]);
});

test('a minute that is used up: refused at every process until its end, then answered; never 403, never a page', async () => {
  const { at } = await customerAt(Date.now(), 1_000, 30);
  // The processes' clocks are moved to the start of a minute.
  await movable.moveOn(60_000 - (movable.nowMs() % 60_000));
  const statuses: number[] = [];
  let refused: Response | undefined;
  for (let number = 0; refused === undefined; number += 1) {
    const response = await at[number % 2]!(path);
    statuses.push(response.status);
    if (response.status === 429) refused = response;
    else await response.arrayBuffer();
  }
  expect(statuses).toEqual([...Array(30).fill(200), 429]);
  expect(refused.headers.get('content-type')).toBe('application/problem+json');
  expect(refused.headers.get('ratelimit-policy')).toBe('"minuto";q=30;w=60');
  const { headers } = refused;
  const waitSeconds = Number(headers.get('retry-after'));
  expect(headers.get('ratelimit')).toBe(`"minuto";r=0;t=${waitSeconds}`);
  expect([headers.get('x-ratelimit-remaining'), headers.get('x-ratelimit-reset')]).toEqual(['0', String(waitSeconds)]);
  await expectProblem(refused, 'limite_por_minuto');
  await expectProblem(await at[0]!('/id/v1/calendario/2026-11-28'), 'limite_por_minuto');
  await movable.moveOn(waitSeconds * 1_000);
  for (const ask of at) expect((await ask(path)).status).toBe(200);
});
