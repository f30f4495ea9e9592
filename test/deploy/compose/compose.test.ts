import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { repositoryRoot } from '../../../deploy/local/config.ts';
import { parseKeyRing } from '../../../pipelines/runtime/secrets.ts';
import { run, toolFor, tryRun } from '../../support/deploy/tools.ts';

// No Docker engine runs here. The files are read by compose-go, the library with which `docker compose config` reads
// them.

const folder = path.join(repositoryRoot, 'deploy', 'compose');
const copy = mkdtempSync(path.join(tmpdir(), 'padron-compose-'));
beforeAll(() => {
  for (const name of ['compose.yaml', 'engines.yaml', 'settings.env', 'make-secrets']) {
    cpSync(path.join(folder, name), path.join(copy, name));
  }
});
afterAll(() => rmSync(copy, { recursive: true, force: true }));

const settingsIn = (name: string): Record<string, string> =>
  Object.fromEntries(
    readFileSync(path.join(copy, name), 'utf8')
      .split('\n')
      .filter((line) => /^[A-Z]/.test(line))
      .map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]),
  );

describe.sequential('make-secrets', () => {
  it('makes keys that the product accepts, readable for their owner alone, and prints none of them', async () => {
    const printed = await run(path.join(copy, 'make-secrets'), []);
    const { DATABASE_URL, WEBHOOK_SECRET_KEYS, AUDIT_HMAC_KEY, CLICKHOUSE_PASSWORD } = settingsIn('secrets.env');
    const engines = settingsIn('engines.env');
    expect(() => parseKeyRing(WEBHOOK_SECRET_KEYS!)).not.toThrow();
    expect(AUDIT_HMAC_KEY!.length).toBeGreaterThanOrEqual(32);
    expect(new URL(DATABASE_URL!).password).toBe(engines.POSTGRES_PASSWORD);
    expect(CLICKHOUSE_PASSWORD).toBe(engines.CLICKHOUSE_PASSWORD);
    for (const secret of [WEBHOOK_SECRET_KEYS!, AUDIT_HMAC_KEY!, ...Object.values(engines)]) {
      expect(printed).not.toContain(secret);
    }
    for (const name of ['secrets.env', 'engines.env']) expect(statSync(path.join(copy, name)).mode & 0o777).toBe(0o600);
    expect(readdirSync(copy).filter((name) => name.endsWith('.partial'))).toEqual([]);
  });

  it('keeps secrets that exist', async () => {
    const before = readFileSync(path.join(copy, 'secrets.env'), 'utf8');
    const { code, output } = await tryRun(path.join(copy, 'make-secrets'), []);
    expect(code).toBe(1);
    expect(output).toContain('secrets.env exists already and is kept');
    expect(readFileSync(path.join(copy, 'secrets.env'), 'utf8')).toBe(before);
  });

  const service = z.object({
    image: z.string(),
    command: z.array(z.string()).nullish(),
    user: z.string().optional(),
    read_only: z.boolean().optional(),
    cap_drop: z.array(z.string()).optional(),
    stop_grace_period: z.string().optional(),
    depends_on: z.record(z.string(), z.object({ condition: z.string() })).optional(),
    ports: z.array(z.object({ host_ip: z.string().optional(), target: z.number() })).optional(),
  });
  const project = z.object({ services: z.record(z.string(), service) });
  const read = async (compose: string, ...files: string[]) =>
    project.parse(JSON.parse(await run(compose, ['-format', 'json', ...files], { cwd: copy }))).services;

  it('gives the product least rights, and starts it after its migrations', async (context) => {
    const services = await read(await toolFor(context, 'compose'), 'compose.yaml');
    expect(Object.keys(services).sort()).toEqual(['api', 'consumers', 'migrate', 'worker']);
    for (const [name, each] of Object.entries(services)) {
      expect(each).toMatchObject({ user: '10001:10001', read_only: true, cap_drop: ['ALL'], stop_grace_period: '45s' });
      if (name !== 'migrate') expect(each.depends_on?.migrate?.condition).toBe('service_completed_successfully');
    }
    const ports = Object.values(services).flatMap((each) => each.ports ?? []);
    expect(ports).toMatchObject([{ host_ip: '127.0.0.1', target: 8080 }]);
  });

  it('adds the engines, each by its digest, before the migrations', async (context) => {
    const services = await read(await toolFor(context, 'compose'), 'compose.yaml', 'engines.yaml');
    const engines = ['clickhouse', 'kafka', 'postgres', 'registry', 'temporal'];
    expect(Object.keys(services.migrate!.depends_on ?? {}).sort()).toEqual(engines);
    for (const name of engines) expect(services[name]!.image).toMatch(/@sha256:[0-9a-f]{64}$/);
    // Every program of the product is a file of it.
    for (const name of ['api', 'consumers', 'migrate', 'worker']) {
      const program = services[name]!.command![0]!;
      expect(statSync(path.join(repositoryRoot, program)).isFile()).toBe(true);
    }
  });

  it('is refused when a file has a mistake', async (context) => {
    const compose = await toolFor(context, 'compose');
    const { code, output } = await tryRun(compose, ['compose.yaml', 'missing.yaml'], { cwd: copy });
    expect(code).not.toBe(0);
    expect(output).toContain('missing.yaml');
  });
});
