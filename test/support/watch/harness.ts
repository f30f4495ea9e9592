import { randomBytes } from 'node:crypto';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import type { Endpoints } from '../../../deploy/local/config.ts';
import type { Change, Row } from '../../../pipelines/changes/record.ts';
import type { BatchHandler, ChangeBatch } from '../../../pipelines/consumers/batch.ts';
import { makeWatchHandler, makeWatchMetrics, type WatchDependencies } from '../../../pipelines/consumers/watch.ts';
import { makePool, type Pool } from '../../../pipelines/runtime/postgres.ts';
import { makeWebhookSecret, parseKeyRing, sealSecret } from '../../../pipelines/runtime/secrets.ts';
import { changesTopic, padronReducido, type RegisterName } from '../../../schemas/registers.ts';
import { migratedDatabase } from '../engines/isolation.ts';
import { encodeChange } from '../registers/change-records.ts';

export const silentLog = pino({ level: 'silent' });
export const keyRingText = `k2:${randomBytes(32).toString('base64')},k1:${randomBytes(32).toString('base64')}`;
export const keyRing = parseKeyRing(keyRingText);

/** A fresh migrated database, with functions that fill it as the API and the catalogue would. */
export interface WatchHarness {
  pool: Pool;
  databaseUrl: string;
  account: () => Promise<number>;
  list: (account: number, nombre: string, rucs: readonly string[]) => Promise<number>;
  webhook: (account: number, url: string, options?: WebhookOptions) => Promise<{ id: string; secret: string }>;
  edition: (number: number, fechaDato: string, detectedAt: Date, options?: EditionOptions) => Promise<void>;
  handler: (overrides?: Partial<WatchDependencies>) => BatchHandler;
  close: () => Promise<void>;
}

interface EditionOptions {
  register?: RegisterName;
  corrects?: number;
}

interface WebhookOptions {
  rate?: number;
  inFlight?: number;
  eventos?: string[];
  listas?: number[];
}

// The harness's lists and webhooks must be older than any edition, since only later changes concern them.
const beforeAllEditions = new Date('2020-01-01');

export async function makeWatchHarness(endpoints: Endpoints): Promise<WatchHarness> {
  const database = await migratedDatabase(endpoints);
  const pool = makePool(database.DATABASE_URL, 'watch-harness', 20);
  return {
    ...makeWatchRows(pool),
    pool,
    databaseUrl: database.DATABASE_URL,
    handler: (overrides = {}) =>
      makeWatchHandler({
        pool,
        lastKnownRows: async () => new Map(),
        shown: async () => 'everywhere',
        wake: async () => {},
        log: silentLog,
        metrics: makeWatchMetrics(new Registry()),
        limits: { holdMs: 2_000, holdPollMs: 10 },
        ...overrides,
      }),
    close: async () => {
      await pool.end();
      await database.drop();
    },
  };
}

/** Inserts accounts, lists, webhooks and editions into an existing database. */
export function makeWatchRows(pool: Pool): Pick<WatchHarness, 'account' | 'list' | 'webhook' | 'edition'> {
  let next = 0;
  return {
    account: async () => {
      const { rows } = await pool.query<{ id: number }>(
        `INSERT INTO account (name, plan) VALUES ('Prueba', 'crecimiento') RETURNING id`,
      );
      return rows[0]!.id;
    },
    list: async (account, nombre, rucs) => {
      const { rows } = await pool.query<{ id: number }>(
        'INSERT INTO watch_list (account_id, nombre, referencia, created_at) VALUES ($1, $2, $3, $4) RETURNING id',
        [account, nombre, `ref-${nombre}`, beforeAllEditions],
      );
      const id = rows[0]!.id;
      await pool.query('INSERT INTO watch_member (list_id, ruc, added_at) SELECT $1, unnest($2::text[]), $3', [
        id,
        rucs,
        beforeAllEditions,
      ]);
      return id;
    },
    webhook: async (account, url, options = {}) => {
      next += 1;
      const id = `wh_test_${next}`;
      const secret = makeWebhookSecret();
      await pool.query(
        `INSERT INTO webhook (id, account_id, url, limite_por_segundo, en_vuelo, eventos, listas, created_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
        [
          id,
          account,
          url,
          options.rate ?? 200,
          options.inFlight ?? 10,
          options.eventos,
          options.listas,
          beforeAllEditions,
        ],
      );
      const { keyId, sealed } = sealSecret(keyRing, id, secret);
      await pool.query('INSERT INTO webhook_secret (webhook_id, number, key_id, sealed) VALUES ($1, 1, $2, $3)', [
        id,
        keyId,
        sealed,
      ]);
      return { id, secret };
    },
    edition: async (number, fechaDato, detectedAt, { register = 'padron_reducido', corrects } = {}) => {
      const { rows } = await pool.query<{ id: number }>('INSERT INTO publication (register) VALUES ($1) RETURNING id', [
        register,
      ]);
      await pool.query(
        `INSERT INTO edition (register, number, publication_id, corrects, fecha_dato, published_at, detected_at,
           change_file_sha256, parser_version, columns, changes, counts)
         VALUES ($1, $2, $3, $4, $5, $6, $6, 'x', 1, '{}', 0, '{}')`,
        [register, number, corrects === undefined ? rows[0]!.id : null, corrects, fechaDato, detectedAt],
      );
    },
  };
}

export function row(cells: Partial<Record<string, string>> = {}): Row {
  const empty = Object.fromEntries(padronReducido.columns.map(({ name }) => [name, '-']));
  return {
    ...empty,
    nombre: 'EMPRESA DE PRUEBA S.A.C.',
    estado: 'ACTIVO',
    condicion: 'HABIDO',
    ubigeo: '150101',
    ...cells,
  };
}

export function change(edition: number, ruc: string, detectedAt: Date, parts: Partial<Change>): Change {
  return { edition, op: 'u', seq: 0, ruc, before: row(), after: row(), line: 2, detectedAt, corrects: null, ...parts };
}

/** A batch of one partition, as the consumer loop passes it to a handler. */
export function batchOf(
  changes: readonly Change[],
  partition = 0,
  firstOffset = 0,
  register: RegisterName = 'padron_reducido',
): ChangeBatch {
  return {
    register,
    topic: changesTopic('', register),
    partition,
    firstOffset: String(firstOffset),
    lastOffset: String(firstOffset + changes.length - 1),
    messages: changes.map((each, index) => ({
      offset: String(firstOffset + index),
      value: encodeChange(each, 7, register),
    })),
    heartbeat: async () => {},
    isStale: () => false,
  };
}
