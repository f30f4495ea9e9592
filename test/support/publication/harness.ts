import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Client } from '@temporalio/client';
import { NativeConnection } from '@temporalio/worker';
import type { Registry } from 'prom-client';
import { type Follow, followFetch, followPublication } from '../../../deploy/cli/publications/follow.ts';
import type { Endpoints } from '../../../deploy/local/config.ts';
import type { Archive } from '../../../pipelines/archive/archive.ts';
import { openArchive } from '../../../pipelines/archive/open.ts';
import type { Publication } from '../../../pipelines/editions/publications.ts';
import { makeEgressDispatcher } from '../../../pipelines/runtime/egress/dispatcher.ts';
import { makeMetrics } from '../../../pipelines/runtime/metrics.ts';
import { makeTemporal } from '../../../pipelines/runtime/temporal.ts';
import { prepareStream } from '../../../pipelines/stream/prepare.ts';
import { type RegisterName, registerNames } from '../../../schemas/registers.ts';
import { defaultSchedules, ensureSchedule, triggerFetch } from '../../../workflows/publication/schedule.ts';
import {
  defaultPublicationSettings,
  makePublicationWorker,
  type PublicationEngines,
  type PublicationSettings,
  type PublicationWorker,
} from '../../../workflows/publication/worker.ts';
import { freshNamespace } from '../engines/isolation.ts';
import { makeStreamHarness, type StreamHarness } from '../engines/stream.ts';
import { quietTemporal, workflowBundle } from '../engines/temporal.ts';
import { FaultyOfficialSite, sourcesAt } from './official-site.ts';

/** The register that tests use by default. */
export const register = 'padron_reducido';
const consumersStartMs = 60_000;
const followTimeoutMs = 90_000;

/** The product's settings with short download pauses. */
export const testSettings: PublicationSettings = {
  ...defaultPublicationSettings,
  downloadLimits: {
    ...defaultPublicationSettings.downloadLimits,
    stallTimeoutMs: 500,
    maxFailuresWithoutProgress: 3,
    progressBytes: 10_000,
    firstPauseMs: 20,
    maxPauseMs: 100,
    reserveBytes: 0,
    reportEveryMs: 200,
  },
};

/**
 * The way from the official site to events: a site, the publication worker in this process, the consumers in their own.
 */
export class PublicationHarness {
  readonly stream: StreamHarness;
  readonly site: FaultyOfficialSite;
  client: Client;
  readonly archive: Archive;
  readonly workDir: string;
  namespace: string;
  readonly #connection: NativeConnection;
  readonly #dependencies: PublicationEngines;
  #consumers: ChildProcess | null = null;
  #consumersPort = 0;
  #worker: { worker: PublicationWorker; running: Promise<void>; metrics: Registry } | null = null;

  constructor(
    stream: StreamHarness,
    site: FaultyOfficialSite,
    temporal: { client: Client; connection: NativeConnection; namespace: string },
    dependencies: PublicationEngines,
  ) {
    this.stream = stream;
    this.site = site;
    this.client = temporal.client;
    this.namespace = temporal.namespace;
    this.#connection = temporal.connection;
    this.#dependencies = dependencies;
    this.archive = dependencies.archive;
    this.workDir = dependencies.workDir;
  }

  static async start(endpoints: Endpoints, settings = testSettings): Promise<PublicationHarness> {
    quietTemporal();
    const stream = await makeStreamHarness(endpoints);
    for (const other of registerNames) await prepareStream(stream, other);
    const namespace = await freshNamespace(endpoints);
    const client = await makeTemporal(endpoints.TEMPORAL_ADDRESS, namespace);
    const connection = await NativeConnection.connect({ address: endpoints.TEMPORAL_ADDRESS });
    const site = new FaultyOfficialSite();
    await site.start();
    const policy = { allowPrivateTargets: true, allowHttp: true };
    const workDir = join(stream.folder, 'work');
    mkdirSync(workDir, { recursive: true });
    const dependencies: PublicationEngines = {
      stream,
      clickhouse: stream.clickhouse,
      clickhouseTarget: stream.environment.CLICKHOUSE_URL!,
      client,
      archive: await openArchive(stream.archiveUrl, workDir),
      workDir,
      access: { dispatcher: makeEgressDispatcher(policy, egressLimits), policy, userAgent: 'padron-test' },
      sources: sourcesAt(site),
      log: stream.log,
      metrics: makeMetrics('test'),
      settings,
    };
    const harness = new PublicationHarness(stream, site, { client, connection, namespace }, dependencies);
    await Promise.all([harness.startConsumers(), harness.startWorker()]);
    return harness;
  }

  async startWorker(): Promise<void> {
    const metrics = makeMetrics('test');
    const worker = await makePublicationWorker(
      this.#connection,
      { ...this.#dependencies, client: this.client, metrics },
      {
        namespace: this.namespace,
        // Once a year, so that only the tests trigger it.
        schedule: { cron: '0 0 1 1 *', reconcileCron: '0 0 1 1 *' },
        sweepEveryMs: 1_000,
        graceMs: 0,
        stopMs: 5_000,
        workflowBundle: await workflowBundle(),
      },
    );
    this.#worker = { worker, running: worker.run(), metrics };
  }

  /** Why the worker makes no editions of some register, as its /readyz says. */
  workerProblem(): string | null {
    return this.#worker!.worker.problem();
  }

  /** The worker's gauge for these labels; undefined when it has no such line. */
  async metric(name: string, labels: Record<string, string>): Promise<number | undefined> {
    const { values } = await this.#worker!.metrics.getSingleMetric(name)!.get();
    return values.find((value) => Object.entries(labels).every(([label, text]) => value.labels[label] === text))?.value;
  }

  /** The reason that the consumers' /readyz gives; null when they are ready. */
  async consumersProblem(): Promise<string | null> {
    const answer = await fetch(`http://127.0.0.1:${this.#consumersPort}/readyz`);
    return ((await answer.json()) as { reason?: string }).reason ?? null;
  }

  /** Moves to a fresh namespace, as if all of Temporal's data were lost. */
  async loseTemporal(endpoints: Endpoints): Promise<void> {
    await this.stopWorker();
    await this.client.connection.close();
    this.namespace = await freshNamespace(endpoints);
    this.client = await makeTemporal(endpoints.TEMPORAL_ADDRESS, this.namespace);
    await this.startWorker();
  }

  async stopWorker(): Promise<void> {
    this.#worker?.worker.stop();
    await this.#worker?.running;
    this.#worker = null;
  }

  async startConsumers(): Promise<void> {
    const child = spawn(process.execPath, ['--import', 'tsx', 'pipelines/consumers/main.ts'], {
      env: { PATH: process.env.PATH, ...this.stream.environment, TEMPORAL_NAMESPACE: this.namespace },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.#consumers = child;
    let said = '';
    child.stderr.on('data', (piece) => {
      said += piece;
    });
    const port = await new Promise<number>((resolve, reject) => {
      child.stdout.on('data', (piece) => {
        said += piece;
        const found = /"healthPort":(\d+)/.exec(said);
        if (found !== null) resolve(Number(found[1]));
      });
      child.once('close', () => reject(new Error(`the consumers ended: ${said}`)));
    });
    const deadline = Date.now() + consumersStartMs;
    this.#consumersPort = port;
    while (!(await isReady(port))) {
      if (Date.now() > deadline) throw new Error(`the consumers are not ready: ${said}`);
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }

  async stopConsumers(signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
    const child = this.#consumers;
    this.#consumers = null;
    if (child === null || child.exitCode !== null) return;
    const ended = new Promise((resolve) => child.once('close', resolve));
    child.kill(signal);
    await ended;
  }

  /** Fetches from the site and follows the publication to its end, as `padron publications run --wait` does. */
  async run(asked: RegisterName = register): Promise<{ outcome: string; publication: Publication | null }> {
    const schedule = await ensureSchedule(this.client, asked, defaultSchedules);
    const fetched = await followFetch(this.follow(), await triggerFetch(schedule, 15_000));
    const id = fetched.publicationId;
    return { outcome: fetched.outcome, publication: id === null ? null : await this.settled(id) };
  }

  settled(id: number): Promise<Publication> {
    return followPublication(this.follow(), id);
  }

  follow(): Follow {
    return { pool: this.stream.pool, client: this.client, note: () => {}, deadline: Date.now() + followTimeoutMs };
  }

  async close(): Promise<void> {
    await this.stopConsumers('SIGKILL');
    await this.stopWorker();
    await this.#dependencies.access.dispatcher.destroy();
    await this.site.close();
    await this.client.connection.close();
    await this.#connection.close();
    await this.stream.close();
  }
}

const egressLimits = {
  connectTimeoutMs: 2_000,
  headersTimeoutMs: 5_000,
  bodyIdleTimeoutMs: 5_000,
  connectionsPerOrigin: 2,
  keepAliveMs: 1_000,
};

async function isReady(port: number): Promise<boolean> {
  const answer = await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => null);
  // Consumers that wait for an operator's command have started.
  return answer?.status === 200 || (await answer?.text())?.includes('npx padron ') === true;
}
