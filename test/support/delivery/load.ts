import { setTimeout as sleep } from 'node:timers/promises';
import { CompressionTypes, type Producer } from 'kafkajs';
import { makeKafka } from '../../../pipelines/runtime/kafka/client.ts';
import type { Pool } from '../../../pipelines/runtime/postgres.ts';
import { eventId } from '../../../pipelines/watch/match.ts';
import { deliveryId } from '../../../pipelines/webhooks/delivery-log.ts';
import { limaDay } from '../../../schemas/lima-time.ts';
import { changesTopic } from '../../../schemas/registers.ts';
import { encodeChange } from '../registers/change-records.ts';
import { change, makeWatchRows, row, silentLog } from '../watch/harness.ts';

const register = 'padron_reducido';
const retryMs = 500;
const states = ['ACTIVO', 'SUSPENSION TEMPORAL', 'BAJA DE OFICIO'];

export interface Customer {
  rucs: readonly string[];
  list: number;
  webhook: string;
}

/** Creates one account per list of companies, with one webhook that accepts `rate` requests per second. */
export async function makeCustomers(
  pool: Pool,
  origin: string,
  lists: readonly (readonly string[])[],
  rate: number,
): Promise<Customer[]> {
  const watch = makeWatchRows(pool);
  const customers: Customer[] = [];
  for (const [index, rucs] of lists.entries()) {
    const account = await watch.account();
    const list = await watch.list(account, 'Proveedores', rucs);
    const { id } = await watch.webhook(account, `${origin}/customer-${index}`, { rate });
    customers.push({ rucs, list, webhook: id });
  }
  return customers;
}

/**
 * Writes editions as the producer would; each changes the status of every watched company. A step is repeated until it
 * succeeds, so records may appear twice. The expected deliveries are computed without asking the product.
 */
export class Load {
  readonly expected = new Set<string>();
  readonly #pool: Pool;
  readonly #producer: Producer;
  readonly #schemaId: number;
  readonly #customers: readonly Customer[];
  #edition: number;

  private constructor(
    pool: Pool,
    producer: Producer,
    schemaId: number,
    customers: readonly Customer[],
    lastEdition: number,
  ) {
    this.#edition = lastEdition;
    this.#pool = pool;
    this.#producer = producer;
    this.#schemaId = schemaId;
    this.#customers = customers;
  }

  /** @param lastEdition the register's last edition, after which the numbers go on */
  static async start(
    pool: Pool,
    brokers: string,
    schemaId: number,
    customers: readonly Customer[],
    lastEdition = 0,
  ): Promise<Load> {
    const producer = makeKafka({ brokers }, 'chaos-load', silentLog).producer({ allowAutoTopicCreation: false });
    await producer.connect();
    return new Load(pool, producer, schemaId, customers, lastEdition);
  }

  async publishEdition(): Promise<void> {
    this.#edition += 1;
    const number = this.#edition;
    const detectedAt = new Date();
    await untilDone(() => this.#catalogue(number, detectedAt));
    const before = row({ estado: states[(number - 1) % states.length]! });
    const after = row({ estado: states[number % states.length]! });
    const messages = this.#customers.flatMap(({ rucs }) =>
      rucs.map((ruc, seq) => ({
        key: ruc,
        value: encodeChange(change(number, ruc, detectedAt, { seq, before, after }), this.#schemaId, register),
      })),
    );
    const topic = changesTopic('', register);
    await untilDone(() => this.#producer.send({ topic, messages, acks: -1, compression: CompressionTypes.None }));
    for (const { rucs, list, webhook } of this.#customers) {
      for (const ruc of rucs)
        this.expected.add(deliveryId(limaDay(detectedAt), eventId(register, number, ruc, 'estado', list), webhook));
    }
  }

  async stop(): Promise<void> {
    await this.#producer.disconnect();
  }

  /** Writes the edition with a finished publication, so that no workflow works on it: only its records matter here. */
  async #catalogue(number: number, detectedAt: Date): Promise<void> {
    await this.#pool.query(
      `WITH publication AS (
         INSERT INTO publication (register, sha256, published_at, state) VALUES ($1, $2, $3, 'publicada')
         ON CONFLICT (register, sha256, published_at) WHERE sha256 IS NOT NULL DO UPDATE SET state = 'publicada' RETURNING id)
       INSERT INTO edition (register, number, publication_id, fecha_dato, published_at, detected_at, change_file_sha256,
         parser_version, columns, changes, counts, publicada_at)
       SELECT $1, $4, id, $3::date, $3, $3, $2, 1, '{}', 1, '{}', now() FROM publication ON CONFLICT DO NOTHING`,
      [register, `chaos-${number}`, detectedAt, number],
    );
  }
}

/** Repeats the work until it succeeds, because the engines are killed and restarted meanwhile. */
async function untilDone(work: () => Promise<unknown>): Promise<void> {
  for (;;) {
    try {
      await work();
      return;
    } catch {
      await sleep(retryMs);
    }
  }
}
