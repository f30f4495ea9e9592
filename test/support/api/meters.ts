import pino from 'pino';
import { createAccount } from '../../../api/accounts/accounts.ts';
import { makeMeter, type RunningMeter } from '../../../api/metering/meter.ts';
import { type Clock, systemClock } from '../../../api/metering/minute-limits.ts';
import { makeQuestions, meteringChannels, type Questions } from '../../../api/metering/questions.ts';
import type { Payer } from '../../../api/metering/types.ts';
import { Notifications } from '../../../pipelines/runtime/notifications.ts';
import { makePool, type Pool } from '../../../pipelines/runtime/postgres.ts';

/** The metering of one API process, with its own connections. */
export interface MeterProcess {
  pool: Pool;
  questions: Questions;
  meter: RunningMeter;
  /** Returns its leases and stops. */
  stop(): Promise<void>;
  /** Stops without returning anything, as a killed process does. */
  drop(): Promise<void>;
}

const log = pino({ level: 'silent' });

export async function startMeter(databaseUrl: string, clock: Clock = systemClock): Promise<MeterProcess> {
  const pool = makePool(databaseUrl, 'test-meter', 5);
  const notifications = new Notifications(pool, meteringChannels, log);
  const questions = makeQuestions(pool, notifications, log);
  const meter = makeMeter(pool, questions, log, clock);
  notifications.start();
  meter.start();
  const drop = async () => {
    await notifications.stop();
    await pool.end();
    await meter.stop();
  };
  return {
    pool,
    questions,
    meter,
    drop,
    async stop() {
      await meter.stop();
      if (!pool.ended) await drop();
    },
  };
}

/** An account with its own plan of `perMonth` units. */
export async function makePayer(pool: Pool, perMonth: number, requestsPerMinute = 100_000): Promise<Payer> {
  const { rows } = await pool.query<{ name: string }>(
    `INSERT INTO plan (name, rank, lookups_per_month, requests_per_minute)
     SELECT 'prueba-' || max(rank), max(rank) + 1, $1, $2 FROM plan RETURNING name`,
    [perMonth, requestsPerMinute],
  );
  const accountId = await createAccount(pool, {
    name: 'Cuenta de prueba',
    plan: rows[0]!.name,
    email: null,
    contract: null,
  });
  return { accountId, requestsPerMinute };
}
