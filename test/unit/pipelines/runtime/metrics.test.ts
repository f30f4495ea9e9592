import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Gauge, Registry } from 'prom-client';
import { afterAll, describe, expect, test, vi } from 'vitest';
import { measureCertificates, measureEngines, scrape } from '../../../../pipelines/runtime/metrics.ts';
import { makeAuthority } from '../../../support/delivery/authority.ts';

/** The values of a metric by its labels. */
async function valuesOf(metrics: Registry, name: string): Promise<Record<string, number>> {
  const { values } = await metrics.getSingleMetric(name)!.get();
  return Object.fromEntries(values.map(({ labels, value }) => [Object.values(labels).join(' '), value]));
}

describe('a scrape', () => {
  const withGauges = (...collects: (() => Promise<void>)[]) => {
    const metrics = new Registry();
    collects.forEach((collect, number) => {
      new Gauge({ name: `padron_test_${number}`, help: 'A test', registers: [metrics], collect });
    });
    return metrics;
  };

  test('leaves out what a store that is away would have given, and nothing else', async () => {
    const text = await scrape(
      withGauges(
        () => Promise.reject(new Error('PostgreSQL does not answer')),
        async () => {},
      ),
    );
    expect(text).toBe('# HELP padron_test_1 A test\n# TYPE padron_test_1 gauge\npadron_test_1 0\n');
  });

  test('does not wait for a store that hangs', async () => {
    vi.useFakeTimers();
    try {
      const asked = scrape(
        withGauges(
          () => new Promise(() => {}),
          async () => {},
        ),
      );
      await vi.advanceTimersByTimeAsync(4_000);
      expect(await asked).not.toContain('padron_test_0');
    } finally {
      vi.useRealTimers();
    }
  });
});

test('an engine that answers is up, one that fails or hangs is not, and a ping that hangs is not repeated', async () => {
  vi.useFakeTimers();
  try {
    const metrics = new Registry();
    const hangs = vi.fn(() => new Promise(() => {}));
    measureEngines(metrics, {
      postgres: async () => {},
      clickhouse: () => Promise.reject(new Error('away')),
      kafka: hangs,
    });
    for (let scraped = 0; scraped < 2; scraped += 1) {
      const asked = valuesOf(metrics, 'padron_engine_up');
      await vi.advanceTimersByTimeAsync(3_000);
      expect(await asked).toEqual({ postgres: 1, clickhouse: 0, kafka: 0 });
    }
    expect(hangs).toHaveBeenCalledOnce();
    expect(Object.keys(await valuesOf(metrics, 'padron_engine_answer_seconds'))).toEqual(['postgres']);
  } finally {
    vi.useRealTimers();
  }
});

describe('certificates', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'padron-certificates-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  test('a chain expires with its first certificate, authorities with their last, and a replaced file counts', async () => {
    const authority = await makeAuthority('Authority of the test');
    const pem = async (day: string) =>
      (await authority.issue({ names: ['client'], notAfter: new Date(`${day}T00:00:00Z`) })).certificatePem;
    const [early, late] = [await pem('2030-01-01'), await pem('2031-01-01')];
    const fileOf = (name: string, text: string) => {
      const file = path.join(folder, name);
      writeFileSync(file, text);
      return file;
    };
    const both = fileOf('both.pem', `${early}\n${late}\n`);
    const metrics = new Registry();
    measureCertificates(metrics, {
      KAFKA_TLS_CERT_FILE: both,
      KAFKA_TLS_CA_FILE: both,
      KAFKA_TLS_KEY_FILE: both,
      EGRESS_EXTRA_CA: path.join(folder, 'not-there.pem'),
      DATABASE_URL: `postgres://padron@db/padron?sslmode=verify-full&sslcert=${fileOf('db.pem', late)}`,
    });
    const days = async () =>
      Object.fromEntries(
        Object.entries(await valuesOf(metrics, 'padron_certificate_expiry_timestamp_seconds')).map(
          ([setting, seconds]) => [setting, new Date(seconds * 1_000).toISOString().slice(0, 10)],
        ),
      );
    const found = {
      KAFKA_TLS_CERT_FILE: '2030-01-01',
      KAFKA_TLS_CA_FILE: '2031-01-01',
      'DATABASE_URL sslcert': '2031-01-01',
    };
    expect(await days()).toEqual(found);
    fileOf('both.pem', late);
    expect(await days()).toEqual({ ...found, KAFKA_TLS_CERT_FILE: '2031-01-01' });
  });
});
