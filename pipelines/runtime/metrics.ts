import { X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import { within } from './lifecycle.ts';
import type { Pool } from './postgres.ts';

/**
 * Makes a process's registry of metrics. Callers pass it on, because there is no global registry. Names of our own
 * metrics start with `padron_`. Labels have few values: never a RUC, an account or a webhook.
 */
export function makeMetrics(process: string): Registry {
  const metrics = new Registry();
  metrics.setDefaultLabels({ process });
  collectDefaultMetrics({ register: metrics });
  return metrics;
}

/** Longest time that a scrape waits for one metric. Prometheus itself gives up after 10 s by default. */
const scrapeWaitMs = 4_000;

/**
 * Returns all metrics in Prometheus' text format. Those that a store would give and does not are left out. Otherwise a
 * store that is away would also hide everything else that its process knows.
 */
export async function scrape(metrics: Registry): Promise<string> {
  const texts = await Promise.all(
    metrics
      .getMetricsAsArray()
      .map(({ name }) => within(scrapeWaitMs, metrics.getSingleMetricAsString(name)).catch(() => '')),
  );
  return `${texts.filter((text) => text !== '').join('\n\n')}\n`;
}

type Engine = 'postgres' | 'clickhouse' | 'kafka' | 'temporal';

const pingWaitMs = 3_000;

/**
 * Asks each engine at each scrape whether it answers, and how fast. A ping that hangs counts as no answer, and is not
 * repeated before it ends. @param pings cheap questions that reject if the engine does not answer
 */
export function measureEngines(metrics: Registry, pings: Partial<Record<Engine, () => Promise<unknown>>>): void {
  const seconds = new Gauge({
    name: 'padron_engine_answer_seconds',
    help: 'Time until the engine answered the last question of a scrape; no line while it does not answer',
    labelNames: ['engine'],
    registers: [metrics],
  });
  const running = new Map<string, Promise<unknown>>();
  const ask = (engine: string, ping: () => Promise<unknown>) => {
    const asked = running.get(engine) ?? ping().finally(() => running.delete(engine));
    running.set(engine, asked);
    return within(pingWaitMs, asked);
  };
  new Gauge({
    name: 'padron_engine_up',
    help: '1 if the engine answers this process, otherwise 0',
    labelNames: ['engine'],
    registers: [metrics],
    async collect() {
      const measure = async ([engine, ping]: [string, () => Promise<unknown>]) => {
        const startedMs = performance.now();
        const isUp = await ask(engine, ping).then(
          () => true,
          () => false,
        );
        this.set({ engine }, Number(isUp));
        if (isUp) seconds.set({ engine }, (performance.now() - startedMs) / 1_000);
        else seconds.remove({ engine });
      };
      await Promise.all(Object.entries(pings).map(measure));
    },
  });
}

/** Counts the connections of the process's pool, and what waits for one. */
export function measurePool(metrics: Registry, pool: Pool): void {
  new Gauge({
    name: 'padron_postgres_connections',
    help: 'Connections of this process to PostgreSQL by state (busy, idle)',
    labelNames: ['state'],
    registers: [metrics],
    collect() {
      this.set({ state: 'busy' }, pool.totalCount - pool.idleCount);
      this.set({ state: 'idle' }, pool.idleCount);
    },
  });
  new Gauge({
    name: 'padron_postgres_waiting',
    help: 'Queries and transactions that wait for a connection to PostgreSQL, because all of them are busy',
    registers: [metrics],
    collect() {
      this.set(pool.waitingCount);
    },
  });
}

/**
 * Shows when certificates expire: those in the files of settings that end with `_CERT_FILE` or `_CA_FILE`, and those
 * that DATABASE_URL names. Each scrape reads the files again, because a certificate is replaced while the process runs.
 * A file that cannot be read has no line.
 */
export function measureCertificates(metrics: Registry, settings: Readonly<Record<string, unknown>>): void {
  const files = certificateFiles(settings);
  new Gauge({
    name: 'padron_certificate_expiry_timestamp_seconds',
    help: 'When the certificate of a setting expires, in seconds since 1970: the first of a chain, the last of authorities',
    labelNames: ['setting'],
    registers: [metrics],
    async collect() {
      this.reset();
      for (const { setting, file, isAuthority } of files) {
        const expiries = await expiriesIn(file).catch(() => []);
        // One authority of several is enough, but each certificate of a chain is needed.
        if (expiries.length > 0) this.set({ setting }, (isAuthority ? Math.max : Math.min)(...expiries) / 1_000);
      }
    },
  });
}

interface CertificateFile {
  setting: string;
  file: string;
  isAuthority: boolean;
}

function certificateFiles(settings: Readonly<Record<string, unknown>>): CertificateFile[] {
  const named = Object.entries(settings).flatMap(([setting, file]) =>
    typeof file === 'string' && /_(CERT|CA)_FILE$|^EGRESS_EXTRA_CA$/.test(setting)
      ? [{ setting, file, isAuthority: !setting.endsWith('_CERT_FILE') }]
      : [],
  );
  const { searchParams } = new URL(String(settings.DATABASE_URL ?? 'postgres:'));
  const ofDatabase = ['sslcert', 'sslrootcert'].flatMap((name) => {
    const file = searchParams.get(name);
    return file === null ? [] : [{ setting: `DATABASE_URL ${name}`, file, isAuthority: name === 'sslrootcert' }];
  });
  return [...named, ...ofDatabase];
}

/** Returns when each certificate of a PEM file expires, in milliseconds since 1970. */
async function expiriesIn(file: string): Promise<number[]> {
  const text = await readFile(file, 'utf8');
  const blocks = text.match(/-----BEGIN CERTIFICATE-----.+?-----END CERTIFICATE-----/gs) ?? [];
  return blocks.map((block) => Date.parse(new X509Certificate(block).validTo));
}
