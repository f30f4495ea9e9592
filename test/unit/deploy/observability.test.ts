import { readdirSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import {
  dashboardExpressions,
  metricsOf,
  observability,
  readObservability,
  ruleExpressions,
} from '../../support/deploy/expressions.ts';

const rules = readObservability('rules.yaml');
const alerts = [...rules.matchAll(/- alert: (\S+)/g)].map(([, name]) => name!);

it.each([
  ['sum by (register) (rate(padron_a_total{state="padron_b"}[5m])) or vector(0)', ['padron_a_total']],
  ['padron:a:ratio_rate5m > 14.4 * 0.001 and padron_b', ['padron:a:ratio_rate5m', 'padron_b']],
  [
    'histogram_quantile(0.5, sum(rate(a_bucket{route="/ruc/{ruc}",le="1"}[1h])) by (le)) / on (job) b',
    ['a_bucket', 'b'],
  ],
  ['absent(a{process="api"}) unless min_over_time(b[5m]) > 2 * 3600', ['a', 'b']],
])('the metrics of %s are %s', (expression, names) => {
  expect(metricsOf(expression)).toEqual(names);
});

it('the expression of every rule is found', () => {
  expect(ruleExpressions(rules).length).toBe(rules.match(/^ +- (alert|record): /gm)?.length);
});

it('every alert has one section in the runbook, which says what it means, what to look at and what to type', () => {
  const sections = readObservability('runbook.md')
    .split(/^###? /m)
    .filter((section) => section.startsWith('Padron'));
  expect(sections.map((section) => section.split('\n', 1)[0]).sort()).toEqual([...new Set(alerts)].sort());
  expect(sections.filter((section) => !/\nMeans: .+\nLook at: .+\nType: /s.test(section))).toEqual([]);
});

it('every alert is tested: quiet, and firing with its text', () => {
  const tests = readdirSync(observability)
    .filter((file) => file.endsWith('.test.yaml'))
    .map(readObservability)
    .join('\n');
  const untested = alerts.filter(
    (alert) =>
      !tests.includes(`alertname: ${alert}, exp_alerts: [] }`) ||
      !new RegExp(`alertname: ${alert}\\n +exp_alerts:\\n +- exp_labels:[^#]*?exp_annotations:[^#]*?summary: `).test(
        tests,
      ),
  );
  expect(untested).toEqual([]);
});

it('every alert has a severity and a summary', () => {
  const whole =
    /- alert: \S+\n(?: {8}.*\n|\n)*? {8}labels: \{ severity: (page|ticket) \}\n {8}annotations:\s+\{\s*summary: /g;
  expect(rules.match(whole)?.length).toBe(alerts.length);
});

it('each dashboard has its own id and title, and a query in every panel', () => {
  const dashboards = readdirSync(path.join(observability, 'dashboards')).map((file) =>
    JSON.parse(readObservability(path.join('dashboards', file))),
  );
  expect(dashboards.map(({ uid }) => uid).sort()).toEqual([
    'padron-delivery',
    'padron-engines',
    'padron-freshness',
    'padron-look-ups',
  ]);
  expect(new Set(dashboards.map(({ title }) => title)).size).toBe(4);
  expect(dashboards.flatMap(({ panels }) => panels).filter(({ targets }) => targets.length === 0)).toEqual([]);
  expect(dashboardExpressions().length).toBeGreaterThan(40);
});
