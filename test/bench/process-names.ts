/** What runs during a bench, by command line, the first that fits; the rest is the bench itself. */
const names: readonly [string, RegExp][] = [
  ['receivers', /receivers-process/],
  // A bench's own worker is told the engines' addresses on its command line.
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
