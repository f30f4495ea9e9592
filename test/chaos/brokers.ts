import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Chain, padron, startChain } from '../../deploy/local/demo/chain.ts';
import { waitUntil } from '../../deploy/local/demo/output.ts';
import { type PublishedDay, writeDay } from '../../deploy/local/demo/register/day.ts';
import { type Population, populationOf, trueChanges } from '../../deploy/local/demo/register/population.ts';
import { faultsOf, type Watched } from '../../deploy/local/demo/watched.ts';
import { makeKafka } from '../../pipelines/runtime/kafka/client.ts';
import { within } from '../../pipelines/runtime/lifecycle.ts';
import { makeLogger } from '../../pipelines/runtime/log.ts';
import { makePool, type Pool } from '../../pipelines/runtime/postgres.ts';
import { changesTopic } from '../../schemas/registers.ts';
import { isCompany } from '../../schemas/ruc.ts';
import { makeAuthority } from '../support/delivery/authority.ts';
import { KafkaCluster } from '../support/engines/kafka-cluster.ts';
import { numberOption } from '../support/process/named-runs.ts';
import { conclude } from './conclude.ts';
import { arrived, dailyRegister, inspectRegister, whereItStands } from './publication.ts';

export interface BrokerKill {
  day: number;
  second: number;
  broker: number;
  /** What came back just before, so that two brokers are up. */
  back: string;
  /** The state of the daily register's publication when the broker was killed. */
  publication: string;
}

export interface BrokersReport {
  kills: BrokerKill[];
  days: { day: number; registers: number; rows: number; seconds: number }[];
  /** Everything that differs from a run without kills. It must be empty. */
  faults: string[];
  /** Records in the topic of the daily register, and changes that they must amount to. */
  records: { inKafka: number; changes: number };
  deliveries: { expected: number; arrived: number; repeated: number };
}

const brokers = 3;
const days = 1 + brokers;
const seed = 20_261_129;
const hourMs = 3_600_000;
const publishTimeoutMs = 1_200_000;
const deliveryTimeoutMs = 180_000;
/** Companies that are watched, of those that change on each day after the first. */
const watchedOnADay = 5;

/**
 * Publishes four days of all registers on three brokers with TLS and logins, replication 3 and min.insync.replicas 2.
 * During the first load each broker is killed in turn, and one more on each later day. A killed broker stays dead until
 * just before the next kill. One of them comes back with an empty disk.
 */
export async function runBrokersChaos(rows: number, log: (line: string) => void): Promise<BrokersReport> {
  const directory = mkdtempSync(path.join(tmpdir(), 'padron-brokers-'));
  const authority = await makeAuthority('Kafka');
  const cluster = new KafkaCluster({ directory: path.join(directory, 'kafka'), size: brokers, authority, log });
  cluster.writeCaFile();
  try {
    const published = await writeDays(path.join(directory, 'site'), rows);
    await cluster.start();
    log(`three brokers are up at ${cluster.brokers()}`);
    const chain = await startChain({
      ...{ directory: path.join(directory, 'chain'), log },
      addresses: { KAFKA_BROKERS: cluster.brokers() },
      environment: cluster.environment(),
    });
    const pool = makePool(chain.stack.endpoints.DATABASE_URL, 'padron-chaos', 2);
    try {
      return await new BrokersRun(chain, pool, cluster, log).run(published);
    } finally {
      await pool.end();
      await chain.stop();
    }
  } finally {
    await cluster.stop();
    rmSync(directory, { recursive: true, force: true });
  }
}

interface Days {
  population: Population;
  all: PublishedDay[];
}

async function writeDays(directory: string, rows: number): Promise<Days> {
  const changes = { inserted: 30, deleted: 30, updated: 65 + Math.round(rows / 250) };
  const population = populationOf(rows, seed, changes);
  const newest = Math.floor((Date.now() - 6 * hourMs) / 1000) * 1000;
  const all: PublishedDay[] = [];
  for (let day = 1; day <= days; day += 1) {
    const lastModified = new Date(newest - (days - day) * 24 * hourMs);
    all.push(await writeDay({ directory, population, day, lastModified, month: null }));
  }
  return { population, all };
}

/** A run on a chain that is up. */
class BrokersRun {
  readonly #chain: Chain;
  readonly #pool: Pool;
  readonly #cluster: KafkaCluster;
  readonly #log: (line: string) => void;
  readonly #startedAt = Date.now();
  readonly #kills: BrokerKill[] = [];
  #dead: number | undefined;

  constructor(chain: Chain, pool: Pool, cluster: KafkaCluster, log: (line: string) => void) {
    this.#chain = chain;
    this.#pool = pool;
    this.#cluster = cluster;
    this.#log = log;
  }

  async run({ population, all }: Days): Promise<BrokersReport> {
    const chain = this.#chain;
    const watched = chooseWatched(population);
    await chain.customer.createList(
      'Proveedores',
      watched.map(({ ruc }) => ruc),
    );
    const webhook = await chain.customer.createWebhook(`${chain.receiver.origin}/avisos`);
    chain.receiver.trust(webhook.secreto);
    const done: BrokersReport['days'] = [];
    for (const [index, day] of all.entries()) {
      const isFirst = index === 0;
      const victims = isFirst ? [1, 2, 3] : [index];
      done.push(await this.#publish(day, index + 1, victims));
    }
    return { kills: this.#kills, days: done, ...(await this.#inspect(all, watched)) };
  }

  async #publish(
    day: PublishedDay,
    number: number,
    victims: readonly number[],
  ): Promise<BrokersReport['days'][number]> {
    // A later day is over before a broker is back, so the broker comes back first.
    let back = await this.#revive();
    const startedAt = Date.now();
    let isFinal = false;
    const publishing = within(publishTimeoutMs, this.#chain.publishDay(day, this.#log)).finally(() => {
      isFinal = true;
    });
    const killing = (async () => {
      await waitUntil(async () => isFinal || (await this.#isUnderWay(number)), publishTimeoutMs);
      for (const victim of victims) {
        if (this.#dead !== undefined) back = await this.#revive();
        if (!isFinal) await this.#kill(number, victim, back);
      }
    })();
    const [rows] = await Promise.all([publishing, killing]);
    for (const { register, state, state_reason } of rows) {
      if (state !== 'publicada') throw new Error(`day ${number}: ${register} ended ${state}: ${state_reason}`);
    }
    const seconds = Math.round((Date.now() - startedAt) / 1000);
    const total = rows.reduce((sum, { rows: count }) => sum + count, 0);
    this.#log(`day ${number}: ${rows.length} registers, ${total} rows, published in ${seconds} s`);
    return { day: number, registers: rows.length, rows: total, seconds };
  }

  /** Brings the dead broker back, with an empty disk the third time. */
  async #revive(): Promise<string> {
    const cluster = this.#cluster;
    const broker = this.#dead;
    if (broker === undefined) return 'none';
    const isFresh = this.#kills.length === brokers;
    if (isFresh) cluster.wipeNode(broker);
    await cluster.startNode(broker);
    await this.#untilReplicated();
    this.#dead = undefined;
    return `${broker}${isFresh ? ' with an empty disk' : ''}`;
  }

  async #kill(day: number, broker: number, back: string): Promise<void> {
    const { publication } = await whereItStands(this.#pool, day);
    await this.#cluster.killNode(broker);
    this.#dead = broker;
    const second = Math.round((Date.now() - this.#startedAt) / 1000);
    this.#log(`day ${day}, second ${second}: broker ${broker} killed (back: ${back}), publication ${publication}`);
    this.#kills.push({ day, second, broker, back, publication });
  }

  /** The first load is killed while it is sent to Kafka. Later days are so small that their first step must do. */
  async #isUnderWay(day: number): Promise<boolean> {
    const { publication } = await whereItStands(this.#pool, day);
    return day === 1 ? publication === 'publicando' : publication !== 'publicada';
  }

  /** An operator waits for this too before he takes the next broker down. */
  async #untilReplicated(): Promise<void> {
    const admin = makeKafka(this.#cluster.connection(), 'chaos', makeLogger('chaos', 'silent')).admin();
    await admin.connect();
    try {
      const isWhole = async () => {
        const { topics } = await admin.fetchTopicMetadata();
        const all = topics.flatMap(({ partitions }) => partitions);
        return all.every(({ isr, replicas }) => replicas.length === brokers && isr.length === brokers);
      };
      await waitUntil(() => isWhole().catch(() => false), publishTimeoutMs);
    } finally {
      await admin.disconnect();
    }
  }

  async #inspect(all: readonly PublishedDay[], watched: readonly Watched[]) {
    const chain = this.#chain;
    await waitUntil(() => faultsOf(watched, arrived(chain)).length === 0, deliveryTimeoutMs);
    // A delivery too many would arrive within this time.
    await sleep(3_000);
    const daily = all.map((day) => day.daily);
    const changes = daily.flatMap((publication) => publication.changes);
    const found = await inspectRegister(chain, daily.at(-1)!, changes);
    // The other registers, names and history are compared with the archive by the product's own command.
    const verified = await padron<{ ok: boolean }[]>(['verify'], chain.environment).catch((error: Error) => error);
    const ids = chain.received.map(({ deliveryId }) => deliveryId);
    return {
      faults: [
        ...found.faults,
        ...faultsOf(watched, arrived(chain)),
        ...(verified instanceof Error ? [`padron verify: ${verified.message}`] : []),
        ...(this.#kills.length === 2 * brokers ? [] : [`${this.#kills.length} kills instead of ${2 * brokers}`]),
      ],
      records: { inKafka: await this.#recordsInKafka(), changes: daily[0]!.rows + changes.length },
      deliveries: { expected: watched.length, arrived: ids.length, repeated: ids.length - new Set(ids).size },
    };
  }

  async #recordsInKafka(): Promise<number> {
    const admin = makeKafka(this.#cluster.connection(), 'chaos', makeLogger('chaos', 'silent')).admin();
    await admin.connect();
    const offsets = await admin.fetchTopicOffsets(changesTopic('', dailyRegister));
    await admin.disconnect();
    return offsets.reduce((sum, { high }) => sum + Number(high), 0);
  }
}

/** Companies whose state changes on just one of the days, and the event that each must bring. */
function chooseWatched(population: Population): Watched[] {
  const later = Array.from({ length: days - 1 }, (_, index) => trueChanges(population, index + 2));
  const times = new Map<string, number>();
  for (const { ruc } of later.flat()) times.set(ruc, (times.get(ruc) ?? 0) + 1);
  return later.flatMap((changes) =>
    changes
      .filter(
        ({ op, ruc, columns }) => op === 'u' && columns.join() === 'estado' && isCompany(ruc) && times.get(ruc) === 1,
      )
      .slice(0, watchedOnADay)
      .map(({ ruc }) => ({ ruc, expected: { evento: 'ruc.estado_cambiado', campo: 'estado' } })),
  );
}

/**
 * `--rows N` (800,000, at least 3,000). Publishes four days of all registers through three brokers with TLS and logins,
 * replication 3 and two in-sync replicas. During the first load each broker is killed with -9 in turn, and one more on
 * each later day; a killed broker is back only just before the next kill. Then state, history, names and deliveries are
 * compared. Exit code 0 only if nothing differs.
 */
export async function run(args: string[]): Promise<void> {
  const startedAt = Date.now();
  const rows = numberOption(args, 'rows', 800_000, 3_000);
  const { kills, days, records, deliveries, faults } = await runBrokersChaos(rows, console.log);
  console.table(kills);
  console.table(days);
  console.log(
    `daily register: ${records.changes} changes, ${records.inKafka} records in Kafka, of which ${records.inKafka - records.changes} are repeats`,
  );
  console.log(
    `deliveries: ${deliveries.expected} expected, ${deliveries.arrived} arrived, ${deliveries.repeated} of them again under the same delivery id`,
  );
  conclude(faults, startedAt);
}
