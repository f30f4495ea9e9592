import pino from 'pino';
import { Registry } from 'prom-client';
import { afterAll, afterEach, beforeAll, expect, inject, vi } from 'vitest';
import { createAccount } from '../../../api/accounts/accounts.ts';
import { readUse } from '../../../api/metering/ledger.ts';
import { Meter, type Payer } from '../../../api/metering/meter.ts';
import { type Clock, monthOf, systemClock } from '../../../api/metering/minute-limits.ts';
import { ApiProblem } from '../../../api/problems.ts';
import { migratePostgres } from '../../../pipelines/runtime/migrate.ts';
import { makePool, type Pool } from '../../../pipelines/runtime/postgres.ts';
import { type FreshDatabase, freshDatabase } from '../engines/isolation.ts';

/** The meter of one API process, with its own connections. */
export interface MeterProcess {
  pool: Pool;
  metrics: Registry;
  meter: Meter;
  stop(): Promise<void>;
}

export function startMeter(databaseUrl: string, clock: Clock = systemClock): MeterProcess {
  const pool = makePool(databaseUrl, 'test-meter', 5);
  const metrics = new Registry();
  const meter = new Meter(pool, metrics, pino({ level: 'silent' }), clock);
  return { pool, metrics, meter, stop: () => pool.end() };
}

/** The database of a file's tests, and the meters that a test starts in it, which are stopped after that test. */
export interface MeterScene {
  database: FreshDatabase;
  pool: Pool;
  running: MeterProcess[];
  processes(count: number, clock?: Clock): MeterProcess[];
}

/** Adds the hooks that make and remove the scene's database. `database` and `pool` are set while tests run. */
export function meterScene(): MeterScene {
  const scene = {
    running: [] as MeterProcess[],
    processes(count: number, clock?: Clock) {
      const started = Array.from({ length: count }, () => startMeter(scene.database.DATABASE_URL, clock));
      scene.running.push(...started);
      return started;
    },
  } as MeterScene;
  beforeAll(async () => {
    scene.database = await freshDatabase(inject('endpoints'));
    await migratePostgres(scene.database.DATABASE_URL);
    scene.pool = makePool(scene.database.DATABASE_URL, 'test', 4);
  });
  afterEach(async () => {
    for (const each of scene.running.splice(0)) await each.stop();
  });
  afterAll(async () => {
    await scene.pool.end();
    await scene.database.drop();
  });
  return scene;
}

/** An account with its own plan of `perMonth` units. */
export async function makePayer(pool: Pool, perMonth: number, requestsPerMinute = 100_000): Promise<Payer> {
  const { rows } = await pool.query<{ name: string }>(
    `INSERT INTO plan (name, rank, lookups_per_month, requests_per_minute)
     SELECT 'prueba-' || max(rank), max(rank) + 1, $1, $2 FROM plan RETURNING name`,
    [perMonth, requestsPerMinute],
  );
  const plan = rows[0]!.name;
  return { accountId: await createAccount(pool, { name: 'Cuenta de prueba', plan, email: null, contract: null }) };
}

/** Polls, because a charge is committed after its answer. */
export async function expectUsedOf(pool: Pool, { accountId }: Payer, used: number, month?: string): Promise<void> {
  const inMonth = month ?? monthOf(Date.now()).firstDay;
  await vi.waitFor(async () => expect((await readUse(pool, accountId, inMonth))?.used).toBe(used), 30_000);
}

export async function refusalOf(charging: Promise<void>): Promise<ApiProblem> {
  const error = await charging.then(
    () => null,
    (problem: unknown) => problem,
  );
  expect(error).toBeInstanceOf(ApiProblem);
  return error as ApiProblem;
}
