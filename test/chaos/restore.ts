import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { type Chain, padron, startChain } from '../../deploy/local/demo/chain.ts';
import { Customer } from '../../deploy/local/demo/customer.ts';
import { waitUntil } from '../../deploy/local/demo/output.ts';
import type { PublishedDay } from '../../deploy/local/demo/register/day.ts';
import { type TwoDays, writeTwoDays } from '../../deploy/local/demo/two-days.ts';
import { engineNames } from '../../deploy/local/engines/context.ts';
import { processNames } from '../../deploy/local/product.ts';
import { makePool, type Pool } from '../../pipelines/runtime/postgres.ts';
import { KillableReceiver } from '../support/delivery/killable-receiver.ts';
import {
  archiveLastWal,
  archiveWal,
  baseBackup,
  type KeptServer,
  onServer,
  type PostgresServer,
  recoverServer,
  startServer,
} from '../support/engines/postgres-servers.ts';
import { numberOption } from '../support/process/named-runs.ts';
import { keyRingText } from '../support/watch/harness.ts';
import { conclude, showLedger } from './conclude.ts';
import { type DeliveryLedger, faultsOf, ledgerOf } from './delivery-ledger.ts';

export interface RestoreReport {
  /** Seconds of each step of the restore, in their order. */
  steps: { step: string; seconds: number }[];
  /** What the restored installation lacks, with when it was written. */
  lost: string[];
  /** `padron verify` of every register. */
  verified: { register: string; edition: number | null; equal?: boolean; rows?: number; differences?: number }[];
  ledger: DeliveryLedger;
  faults: string[];
}

/** What an operator keeps on other machines besides the two secrets. */
interface Kept extends KeptServer {
  /** Copy of the archive. */
  archive: string;
}

const settleMs = 300_000;
const maxMembers = 1_000;
const secrets = { WEBHOOK_SECRET_KEYS: keyRingText, AUDIT_HMAC_KEY: 'audit key of the drill, at least 32 characters' };

/**
 * The drill of deploy/backup/README.md: registers are loaded and deliveries sent, a base backup is made, more is
 * published, then every engine is destroyed and all is brought back from what was kept elsewhere.
 */
export async function runRestore(rows: number, log: (line: string) => void): Promise<RestoreReport> {
  const directory = mkdtempSync(path.join(tmpdir(), 'padron-restore-'));
  const stops: (() => unknown)[] = [() => rmSync(directory, { recursive: true, force: true })];
  try {
    return await new Drill(directory, stops, log).run(rows);
  } finally {
    for (const stop of stops.reverse()) await stop();
  }
}

class Drill {
  readonly #directory: string;
  readonly #stops: (() => unknown)[];
  readonly #log: (line: string) => void;
  readonly #kept: Kept;
  readonly #steps: RestoreReport['steps'] = [];
  readonly #faults: string[] = [];

  constructor(directory: string, stops: (() => unknown)[], log: (line: string) => void) {
    this.#directory = directory;
    this.#stops = stops;
    this.#log = log;
    const [base, wal, archive, credentials] = ['base.tar', 'wal', 'archive', 'credentials'].map((name) =>
      path.join(directory, 'kept', name),
    ) as [string, string, string, string];
    this.#kept = { base, wal, archive, credentials };
    for (const folder of [this.#kept.wal, this.#kept.archive]) mkdirSync(folder, { recursive: true });
  }

  async run(rows: number): Promise<RestoreReport> {
    const days = await writeTwoDays(path.join(this.#directory, 'site'), rows);
    const [open, paused] = [await this.#receiver('open'), await this.#receiver('paused')];
    const caFile = path.join(this.#directory, 'authorities.pem');
    writeFileSync(caFile, `${open.caPem}\n${paused.caPem}`);
    const environment = { ...secrets, EGRESS_EXTRA_CA: caFile };

    const primary = await startServer(path.join(this.#directory, 'postgres'));
    this.#stops.push(() => primary.stack.stop());
    await archiveWal(primary, this.#kept);
    const first = await this.#start('first', environment, { DATABASE_URL: primary.url });
    const pool = makePool(primary.url, 'drill', 2);
    const token = await this.#workUntilDestroyed(first, primary, pool, days, { open, paused });
    const expected = await this.#lastArchived(first, primary, pool);
    await pool.end();
    await this.#destroy(first, primary);

    const again = await this.#restore(environment);
    const verified = await this.#step('verify', () => this.#verify(again));
    for (const { register, equal } of verified) {
      if (equal !== true) this.#faults.push(`${register} has no edition after the restore`);
    }
    const restored = makePool(again.environment.DATABASE_URL!, 'drill', 2);
    this.#stops.push(() => restored.end());
    await this.#resume(again, token, paused, expected);
    await this.#goBack(expected);
    const ledger = await ledgerOf(restored, expected.ids, [...open.arrivals(), ...paused.arrivals()]);
    return {
      steps: this.#steps,
      lost: await this.#lost(restored),
      verified,
      ledger,
      faults: [...this.#faults, ...faultsOf(ledger)],
    };
  }

  async #receiver(name: string): Promise<KillableReceiver> {
    const receiver = await KillableReceiver.start(path.join(this.#directory, `${name}.txt`));
    this.#stops.push(() => receiver.kill());
    return receiver;
  }

  async #start(name: string, environment: Record<string, string>, addresses: Record<string, string>): Promise<Chain> {
    const directory = path.join(this.#directory, name);
    const chain = await startChain({ directory, log: this.#log, environment, addresses });
    this.#stops.push(() => chain.stop());
    return chain;
  }

  /** Loads, delivers, backs up, and publishes more. Returns the customer's token. */
  async #workUntilDestroyed(
    chain: Chain,
    primary: PostgresServer,
    pool: Pool,
    days: TwoDays,
    receivers: { open: KillableReceiver; paused: KillableReceiver },
  ): Promise<string> {
    await chain.publishDay(days.first);
    const { customer } = chain;
    const changed = days.second.daily.changes.map(({ ruc }) => ruc).filter((ruc) => ruc.startsWith('20'));
    const watched = [...new Set([...days.watched.map(({ ruc }) => ruc), ...changed])].slice(0, maxMembers);
    await customer.createList('Proveedores', watched);
    await customer.createWebhook(`${receivers.open.origin}/avisos`);
    const { id } = await customer.createWebhook(`${receivers.paused.origin}/avisos`);
    await customer.client.pausarWebhook({ webhook: id });

    // The lists of withholding agents and good taxpayers change first, so deliveries are there before the base backup.
    await chain.publishDay(partOf(days.second, (register) => register !== 'padron_reducido'));
    await until(() => receivers.open.arrivals().length > 0, 'a delivery arrives');
    const label = 'drill';
    await baseBackup(primary, this.#kept.base, label);
    await padron(['backup', 'record', '--kind', 'base', '--label', label], chain.environment);
    await chain.publishDay(partOf(days.second, (register) => register === 'padron_reducido'));
    const areSent = async () => (await countOf(pool, "estado IN ('pendiente', 'en_curso')")) === 0;
    await until(areSent, 'every delivery is sent or held');
    return chain.token;
  }

  /** Ends the part that is kept: the archive is copied and the last WAL file archived. Then something more is written. */
  async #lastArchived(chain: Chain, primary: PostgresServer, pool: Pool): Promise<Expected> {
    const archive = fileURLToPath(chain.environment.ARCHIVE_URL!);
    await padron(['backup', 'record', '--kind', 'archive', '--label', 'copy'], chain.environment);
    await addAccount(chain, 'before the target time');
    const [{ target }] = (await pool.query<{ target: string }>('SELECT clock_timestamp()::text AS target')).rows as [
      { target: string },
    ];
    await addAccount(chain, 'before the last archived WAL');
    const { rows } = await pool.query<{ id: string }>('SELECT id FROM delivery');
    const held = await countOf(pool, "estado = 'retenida'");
    cpSync(archive, this.#kept.archive, { recursive: true, filter: (file) => path.basename(file) !== 'incoming' });
    await archiveLastWal(primary);
    const metrics = await (await fetch(`${chain.product.healthUrls.worker}/metrics`)).text();
    for (const kind of ['base', 'wal', 'archive']) {
      if (!metrics.includes(`padron_backup_age_seconds{kind="${kind}"`)) this.#faults.push(`no age of ${kind} backups`);
    }
    await addAccount(chain, 'after the last archived WAL');
    this.#log(`${rows.length} deliveries until the last archived WAL, ${held} of them held`);
    return { ids: new Set(rows.map(({ id }) => id)), held, target };
  }

  async #destroy(chain: Chain, primary: PostgresServer): Promise<void> {
    await Promise.all(processNames.map((name) => chain.product.kill(name)));
    const engines = engineNames.filter((name) => name !== 'postgres');
    await Promise.all([primary.stack.kill('postgres'), ...engines.map((name) => chain.stack.kill(name))]);
    await chain.stop();
    await primary.stack.stop();
    for (const name of ['first', 'postgres']) rmSync(path.join(this.#directory, name), { recursive: true });
    this.#log('PostgreSQL, Kafka, the registry, ClickHouse, Temporal, the archive and WORK_DIR are destroyed');
  }

  async #restore(environment: Record<string, string>): Promise<Chain> {
    const server = await this.#step('PostgreSQL: base backup and all archived WAL', () => this.#recover('restored'));
    const archive = path.join(this.#directory, 'archive');
    await this.#step('archive: copied back', async () => cpSync(this.#kept.archive, archive, { recursive: true }));
    const addresses = { DATABASE_URL: server.url, ARCHIVE_URL: pathToFileURL(archive).href };
    return this.#step('empty engines, padron migrate, processes', () => this.#start('second', environment, addresses));
  }

  /** Restores another server to a moment between two writes, as after an operator's mistake. */
  async #goBack({ target }: Expected): Promise<void> {
    const earlier = { recovery_target_time: target, recovery_target_action: 'promote' };
    const { url } = await this.#recover('earlier', earlier);
    const accounts = await onServer<{ name: string }>(url, 'SELECT name FROM account');
    const has = (name: string) => accounts.some((account) => account.name === name);
    if (!has('before the target time')) this.#faults.push('the target time lacks what was written before it');
    if (has('before the last archived WAL')) this.#faults.push('the target time has what was written later');
  }

  async #recover(name: string, target: Record<string, string> = {}): Promise<PostgresServer> {
    const server = await recoverServer(this.#kept, path.join(this.#directory, name), target);
    this.#stops.push(() => server.stack.stop());
    return server;
  }

  /** The worker produces the editions again after its start, so the first answers may be that one is on its way. */
  async #verify({ environment }: Chain): Promise<RestoreReport['verified']> {
    for (const until = Date.now() + settleMs; ; await sleep(1_000)) {
      try {
        return await padron<RestoreReport['verified']>(['verify'], environment);
      } catch (error) {
        if (Date.now() > until) throw error;
      }
    }
  }

  /** The customer resumes the paused webhook under his old token, and every held delivery must come. */
  async #resume(chain: Chain, token: string, paused: KillableReceiver, { held }: Expected): Promise<void> {
    const { client } = new Customer(chain.product.apiUrl, token);
    const { data } = await client.verWebhooks({});
    const webhook = data.find(({ url }) => url.startsWith(paused.origin))!;
    await client.reanudarWebhook({ webhook: webhook.id });
    await until(() => new Set(paused.arrivals()).size >= held, 'every held delivery arrives');
    await sleep(5_000); // a delivery too many would arrive within this time, and the last one is recorded
  }

  async #lost(pool: Pool): Promise<string[]> {
    const { rows } = await pool.query<{ name: string }>('SELECT name FROM account');
    const names = new Set(rows.map(({ name }) => name));
    const written = ['before the target time', 'before the last archived WAL', 'after the last archived WAL'];
    const lost = written.filter((name) => !names.has(name));
    for (const name of lost.filter((each) => each.startsWith('before'))) this.#faults.push(`lost: an account ${name}`);
    return lost.map((name) => `an account that was made ${name}`);
  }

  async #step<Result>(step: string, work: () => Promise<Result>): Promise<Result> {
    const began = Date.now();
    const result = await work();
    const seconds = (Date.now() - began) / 1_000;
    this.#steps.push({ step, seconds });
    this.#log(`${step}: ${seconds.toFixed(1)} s`);
    return result;
  }
}

interface Expected {
  /** Deliveries that PostgreSQL had until the last archived WAL. */
  ids: ReadonlySet<string>;
  held: number;
  /** A moment between two writes, to which a restore can go back. */
  target: string;
}

async function until(condition: () => boolean | Promise<boolean>, what: string): Promise<void> {
  if (!(await waitUntil(condition, settleMs))) throw new Error(`not within ${settleMs / 1_000} s: ${what}`);
}

function partOf(day: PublishedDay, wanted: (register: string) => boolean): PublishedDay {
  return { ...day, files: day.files.filter(({ register }) => wanted(register)) };
}

async function addAccount({ environment }: Chain, name: string): Promise<void> {
  await padron(['accounts', 'create', '--name', name, '--plan', 'free'], environment);
}

async function countOf(pool: Pool, condition: string): Promise<number> {
  const { rows } = await pool.query<{ found: number }>(
    `SELECT count(*)::int AS found FROM delivery WHERE ${condition}`,
  );
  return rows[0]!.found;
}

/**
 * `--rows N` (100,000, at least 3,000). Runs `runRestore` with N taxpayers. Nothing until the last archived WAL may be
 * lost, and `padron verify` must find all equal. Exit code 0 only if nothing differs.
 */
export async function run(args: string[]): Promise<void> {
  const startedAt = Date.now();
  const report = await runRestore(numberOption(args, 'rows', 100_000, 3_000), console.log);
  console.table(report.steps);
  console.table(report.verified, ['register', 'edition', 'equal', 'rows', 'differences']);
  showLedger(report.ledger);
  const seconds = report.steps.reduce((sum, step) => sum + step.seconds, 0);
  console.log(`restored and verified in ${seconds.toFixed(0)} s`);
  console.log(`lost: ${report.lost.length === 0 ? 'nothing' : report.lost.join('; ')}`);
  conclude(report.faults, startedAt);
}
