/** Names of the processes of a benchmark by command line; the first match counts. Any other is the benchmark itself. */
const names: readonly [string, RegExp][] = [
  ['receivers', /receivers-process/],
  // The command line of a benchmark's own worker also contains the engines' addresses.
  ['worker', /workflows\/main|worker-process/],
  ['kafka', /kafka\.Kafka/],
  ['registry', /quarkus-run|apicurio/],
  ['temporal', /temporal.* server |temporal server/],
  ['postgres', /postgres/],
  ['clickhouse', /local\/clickhouse\/main/],
  ['api', /api\/main/],
  ['consumers', /consumers\/main/],
  ['producer', /producer\/main/],
  ['difference', /diff\/main/],
  ['verification', /replay\/main/],
  ['command', /cli\/padron/],
];

export function processName(command: string): string {
  return names.find(([, pattern]) => pattern.test(command))?.[0] ?? 'bench';
}
