import { metricsRead } from './expressions.ts';

/** Each of these labels has a value for every register, route, engine and so on, which are few. */
const boundedLabels = new Set([
  ...['process', 'register', 'group', 'topic', 'partition', 'cause', 'table', 'result', 'route', 'method', 'status'],
  ...['code', 'plan', 'step', 'outcome', 'state', 'served', 'engine', 'setting', 'kind', 'le', 'replica'],
  // Labels of the library's own metrics of Node.js.
  ...['space', 'type', 'version', 'major', 'minor', 'patch'],
]);
/** No process has more lines than this, however many customers, webhooks and companies there are. */
const maxLines = 1_500;

/** Only an installation with several ClickHouse servers has these. The tests of replicas read them. */
const onlyOfReplicas = /^padron_(api_)?replica_/;

/** What is wrong with the metrics of a running product, given the answers of its processes. */
export function faultsOfMetrics(texts: readonly string[]): string[] {
  const types = new Map(
    texts
      .flatMap((text) => [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)])
      .map(([, name, type]) => [name!, type!] as const),
  );
  const known = new Set(
    [...types].flatMap(([name, type]) =>
      type === 'histogram' ? ['_bucket', '_count', '_sum'].map((ending) => name + ending) : [name],
    ),
  );
  const lines = texts.map((text) => text.split('\n').filter((line) => line !== '' && !line.startsWith('#')));
  const labels = new Set(lines.flat().flatMap((line) => [...line.matchAll(/[{,](\w+)="/g)].map(([, label]) => label!)));
  return [
    ...metricsRead()
      .filter((name) => !known.has(name) && !onlyOfReplicas.test(name))
      .map((name) => `rules or dashboards read ${name}, which no process has`),
    ...[...types]
      .filter(([name, type]) => name.startsWith('padron_') && (type === 'counter') !== name.endsWith('_total'))
      .map(([name, type]) => `${name} is a ${type}: names of counters, and no others, end with _total`),
    ...[...labels]
      .filter((label) => !boundedLabels.has(label))
      .map((label) => `the label ${label} is not known to have few values`),
    ...lines.filter(({ length }) => length > maxLines).map(({ length }) => `a process has ${length} lines of metrics`),
  ];
}
