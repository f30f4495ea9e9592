/** What runs during a bench, by command line; the rest is the bench itself. */
const names: readonly [string, RegExp][] = [
  ['kafka', /kafka\.Kafka/],
  ['registry', /quarkus-run|apicurio/],
  ['temporal', /temporal.* server |temporal server/],
  ['postgres', /postgres/],
  ['clickhouse', /local\/clickhouse\/main/],
  ['api', /api\/main/],
  ['consumers', /consumers\/main/],
  ['worker', /workflows\/main/],
  ['publisher', /publisher\/main/],
  ['difference', /diff\/main/],
];

export function processName(command: string): string {
  return names.find(([, pattern]) => pattern.test(command))?.[0] ?? 'bench';
}
