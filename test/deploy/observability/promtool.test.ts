import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { dashboardExpressions, observability } from '../../support/deploy/expressions.ts';
import { toolFor, tryRun } from '../../support/deploy/tools.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'padron-rules-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

it('Prometheus accepts the rules', async (context) => {
  const promtool = await toolFor(context, 'promtool');
  const { code, output } = await tryRun(promtool, ['check', 'rules', path.join(observability, 'rules.yaml')]);
  expect(output).toContain('SUCCESS');
  expect(code).toBe(0);
});

it('each alert stays quiet and fires as its tests say', async (context) => {
  const promtool = await toolFor(context, 'promtool');
  const tests = readdirSync(observability).filter((file) => file.endsWith('.test.yaml'));
  expect(tests.length).toBeGreaterThan(0);
  const { code, output } = await tryRun(promtool, ['test', 'rules', ...tests], { cwd: observability });
  expect(output.match(/SUCCESS/g)?.length).toBe(tests.length);
  expect(code).toBe(0);
});

it('Prometheus accepts every expression of the dashboards', async (context) => {
  const promtool = await toolFor(context, 'promtool');
  const file = path.join(folder, 'dashboards.json');
  const rules = dashboardExpressions().map(({ where, text }, number) => ({
    record: `panel:${number}`,
    expr: text,
    labels: { panel: where },
  }));
  // A file of rules is YAML, and JSON is YAML too.
  writeFileSync(file, JSON.stringify({ groups: [{ name: 'dashboards', rules }] }));
  const { code, output } = await tryRun(promtool, ['check', 'rules', file]);
  expect(output).toContain(`SUCCESS: ${rules.length} rules found`);
  expect(code).toBe(0);
});
