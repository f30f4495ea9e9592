import { readArguments } from '../../deploy/local/foreground.ts';
import { runBrokersChaos } from './brokers.ts';
import { runDeliveryChaos } from './delivery.ts';
import { type DeliveryLedger, faultsOf, percent, repeatedShare } from './delivery-ledger.ts';
import { failoverKinds, runFailover, slowOf } from './failover.ts';
import { runChaos } from './publication.ts';
import { runLastRelease } from './release.ts';
import { runReplicaChaos } from './replicas.ts';

const help = `npm run chaos -- publication [--rows N]
npm run chaos -- delivery [--seconds S] [--every S]
npm run chaos -- release [--then SQL]
npm run chaos -- failover [--seconds S]
npm run chaos -- brokers [--rows N]

publication: publishes two days of an invented register on a stack of its own; in the middle of each it kills -9 the worker,
the consumers, Kafka and the ClickHouse process, one after another, and starts each again. Then it compares state, history
and deliveries with an undisturbed run.

delivery: changes of watched companies keep coming, while worker, consumers, Kafka, PostgreSQL, Temporal and receiver are
killed with -9 in turn. Then every delivery must have come, none that is not due, and at most 0.1 % of them twice, each
because it was in flight at a kill; the ledger says so.

release: runs the end-to-end tests of the last release, whose commit deploy/CHANGELOG.md names, on databases that this
release's migrations made. --then runs one more statement in PostgreSQL after them, to see the check fail.

failover: PostgreSQL has a synchronous standby. Under 200 deliveries a second and look-ups that are charged, the primary is
killed with -9, the standby promoted, and the address moved to it. Three times: connections end, nothing says that the
machine is lost, the address moves before the promotion. Then every delivery must have come, and the charges must be those
that were committed; after each move the service must be back within 10 s.

brokers: publishes four days of all registers through three brokers with TLS and logins, replication 3 and two in-sync
replicas. During the first load each broker is killed with -9 in turn, and one more on each later day; a killed broker is
back only just before the next kill. Then state, history, names and deliveries are compared.

Exit code 0 only if nothing differs.

  npm run chaos -- publication                 800000 rows
  npm run chaos -- publication --rows 100000
  npm run chaos -- delivery                    10 minutes, a kill every 20 s: 30 of them, longer where one is long in coming back
  npm run chaos -- delivery --seconds 120
  npm run chaos -- failover                    three failovers, 20 s of load around each
  npm run chaos -- failover --seconds 5
  npm run chaos -- release --then 'ALTER TABLE watch_list DROP COLUMN referencia'
  npm run chaos -- brokers                     800000 rows`;

const { values, positionals } = readArguments(help, {
  allowPositionals: true,
  options: {
    help: { type: 'boolean', short: 'h' },
    rows: { type: 'string' },
    rate: { type: 'string', default: '2000' },
    seconds: { type: 'string' },
    every: { type: 'string', default: '20' },
    // biome-ignore lint/suspicious/noThenProperty: this is the name of an option
    then: { type: 'string' },
  },
});
const [every, rate] = [Number(values.every), Number(values.rate)];
const rowsOr = (usual: number) => Number(values.rows ?? usual);
const secondsOr = (usual: number) => Number(values.seconds ?? usual);
const log = (line: string) => console.log(line);
const startedAt = Date.now();

if (values.help) {
  console.log(help);
} else if (positionals[0] === 'publication' && rowsOr(800_000) >= 3_000) {
  await publication(rowsOr(800_000));
} else if (positionals[0] === 'delivery' && secondsOr(600) >= 10 && every >= 1) {
  await delivery(secondsOr(600));
} else if (positionals[0] === 'failover' && secondsOr(20) >= 1) {
  await failover(secondsOr(20));
} else if (positionals[0] === 'release') {
  await release();
} else if (positionals[0] === 'replicas' && rowsOr(20_000) >= 5_000 && rate >= 1) {
  await replicas(rowsOr(20_000));
} else if (positionals[0] === 'brokers' && rowsOr(800_000) >= 3_000) {
  await brokers(rowsOr(800_000));
} else {
  console.log(help);
  process.exitCode = 2;
}

async function publication(rows: number): Promise<void> {
  const report = await runChaos(rows, log);
  console.table(report.kills);
  console.log(
    `deliveries: ${report.deliveries.expected} expected, ${report.deliveries.arrived} arrived, ${report.deliveries.repeated} of them again under the same delivery id`,
  );
  console.log(`rows: ${report.rows.state} in the state, ${report.rows.history} changes in the history`);
  conclude(report.faults);
}

async function delivery(seconds: number): Promise<void> {
  const sizes = { editionEverySeconds: 5, customers: 20, companies: 10 };
  const { kills, ledger } = await runDeliveryChaos({ seconds, killEverySeconds: every, ...sizes }, log);
  console.table(kills);
  showLedger(ledger);
  conclude(faultsOf(ledger));
}

async function failover(betweenSeconds: number): Promise<void> {
  const load = { editionEverySeconds: 1, customers: 20, companies: 10, lookUpsPerSecond: 40 };
  const report = await runFailover({ kinds: failoverKinds, betweenSeconds, ...load }, log);
  console.table(report.failovers);
  showLedger(report.ledger);
  console.table(report.quota);
  conclude([...faultsOf(report.ledger), ...report.faults, ...slowOf(report.failovers)]);
}

function showLedger(ledger: DeliveryLedger): void {
  const { lost, uncalledFor, repeatedUnexplained, unrecorded, ...counts } = ledger;
  console.table({
    ...counts,
    repeatedUnexplained: repeatedUnexplained.length,
    repeatedShare: percent(repeatedShare(ledger)),
    lost: lost.length,
    uncalledFor: uncalledFor.length,
    unrecorded: unrecorded.length,
  });
}

async function release(): Promise<void> {
  const outcome = await runLastRelease({ thenRun: values.then, log });
  if (outcome.skipped === null) conclude(outcome.faults);
  else console.log(`skipped: ${outcome.skipped}`);
}

async function replicas(rows: number): Promise<void> {
  const report = await runReplicaChaos({ rows, perSecond: rate, callers: 32, measureSeconds: 15 }, log);
  console.table(report.steps);
  const { seconds: loaded, ...counts } = report.load;
  console.table({ ...counts, perSecond: Math.round(counts.answered / loaded), notices: report.notices });
  const { twoReplicas, oneReplica } = report.perSecond;
  console.log(`at full speed: ${twoReplicas} look-ups a second with two replicas, ${oneReplica} with one`);
  conclude(report.faults);
}

async function brokers(rows: number): Promise<void> {
  const { kills, days, records, deliveries, faults } = await runBrokersChaos(rows, log);
  console.table(kills);
  console.table(days);
  console.log(
    `daily register: ${records.changes} changes, ${records.inKafka} records in Kafka, of which ${records.inKafka - records.changes} are repeats`,
  );
  console.log(
    `deliveries: ${deliveries.expected} expected, ${deliveries.arrived} arrived, ${deliveries.repeated} of them again under the same delivery id`,
  );
  conclude(faults);
}

function conclude(faults: readonly string[]): void {
  console.log(`${faults.length} faults after ${((Date.now() - startedAt) / 1000).toFixed(0)} s`);
  for (const fault of faults.slice(0, 50)) console.log(`  ${fault}`);
  process.exitCode = faults.length === 0 ? 0 : 1;
}
