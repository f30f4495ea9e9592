import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { repositoryRoot } from '../../../deploy/local/config.ts';

export const observability = path.join(repositoryRoot, 'deploy', 'observability');

export const readObservability = (file: string): string => readFileSync(path.join(observability, file), 'utf8');

/** A PromQL expression of a rule or of a dashboard's panel. */
export interface Expression {
  /** The file and the rule or panel. */
  where: string;
  text: string;
}

/** A rule is `- alert: NAME` or `- record: NAME` and an `expr`, on one line or folded over indented lines. */
const rulePattern = /- (?:alert|record): (\S+)\n +expr: (?:>-\n((?: {10}.*\n)+)|(.+)\n)/g;

export function ruleExpressions(rules: string): Expression[] {
  return [...rules.matchAll(rulePattern)].map(([, name, folded, single]) => ({
    where: `rules.yaml ${name}`,
    text: (folded ?? single!).trim().replace(/\n\s+/g, ' '),
  }));
}

interface Dashboard {
  title: string;
  panels: { title: string; targets: { expr: string }[] }[];
}

export function dashboardExpressions(): Expression[] {
  return readdirSync(path.join(observability, 'dashboards')).flatMap((file) => {
    const { panels } = JSON.parse(readObservability(path.join('dashboards', file))) as Dashboard;
    return panels.flatMap(({ title, targets }) =>
      // Grafana replaces its variable by a duration before Prometheus gets the expression.
      targets.map(({ expr }) => ({ where: `${file} ${title}`, text: expr.replaceAll('$__rate_interval', '5m') })),
    );
  });
}

const operators = new Set(['and', 'or', 'unless', 'bool', 'offset', 'inf', 'nan']);

/** The names of metrics in a PromQL expression: every name but functions, operators, labels and what is quoted. */
export function metricsOf(expression: string): string[] {
  const bare = expression
    .replace(/"(?:[^"\\]|\\.)*"/g, '')
    .replace(/\{[^}]*\}|\[[^\]]*\]/g, '')
    .replace(/\b(by|without|on|ignoring|group_left|group_right)\s*\([^)]*\)/g, '');
  const names = bare.match(/(?<![\w:.])[a-z_:][\w:]*(?!\s*\(|[\w:])/gi) ?? [];
  return [...new Set(names.filter((name) => !operators.has(name)))];
}

/** Every metric that rules and dashboards read, but those that a rule records and `up`, which Prometheus writes itself. */
export function metricsRead(): string[] {
  const rules = ruleExpressions(readObservability('rules.yaml'));
  const recorded = new Set(rules.map(({ where }) => where.replace('rules.yaml ', '')));
  const names = [...rules, ...dashboardExpressions()].flatMap(({ text }) => metricsOf(text));
  return [...new Set(names)].filter((name) => name !== 'up' && !recorded.has(name)).sort();
}
