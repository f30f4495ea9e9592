import { readArguments } from '../../deploy/local/foreground.ts';
import { runDeliveryChaos } from './delivery.ts';
import { faultsOf, percent, repeatedShare } from './delivery-ledger.ts';
import { runChaos } from './publication.ts';
import { runLastRelease } from './release.ts';

const help = `npm run chaos -- publication [--rows N]
npm run chaos -- delivery [--seconds S] [--every S]
npm run chaos -- release [--then SQL]

publication: publishes two days of an invented register on a stack of its own; in the middle of each it kills -9 the worker,
the consumers, Kafka and the ClickHouse process, one after another, and starts each again. Then it compares state, history
and deliveries with an undisturbed run.

delivery: changes of watched companies keep coming, while worker, consumers, Kafka, PostgreSQL, Temporal and receiver are
killed with -9 in turn. Then every delivery must have come, none that is not due, and at most 0.1 % of them twice, each
because it was in flight at a kill; the ledger says so.

release: runs the end-to-end tests of the last release, whose commit deploy/CHANGELOG.md names, on databases that this
release's migrations made. --then runs one more statement in PostgreSQL after them, to see the check fail.

Exit code 0 only if nothing differs.

  npm run chaos -- publication                 800000 rows
  npm run chaos -- publication --rows 100000
  npm run chaos -- delivery                    10 minutes, a kill every 20 s: 30 of them, longer where one is long in coming back
  npm run chaos -- delivery --seconds 120
  npm run chaos -- release --then 'ALTER TABLE watch_list DROP COLUMN referencia'`;

const { values, positionals } = readArguments(help, {
  allowPositionals: true,
  options: {
    help: { type: 'boolean', short: 'h' },
    rows: { type: 'string', default: '800000' },
    seconds: { type: 'string', default: '600' },
    every: { type: 'string', default: '20' },
    // biome-ignore lint/suspicious/noThenProperty: this is the name of an option
    then: { type: 'string' },
  },
});
const [rows, seconds, every] = [values.rows, values.seconds, values.every].map(Number) as [number, number, number];
const log = (line: string) => console.log(line);
const startedAt = Date.now();

if (values.help) {
  console.log(help);
} else if (positionals[0] === 'publication' && Number.isInteger(rows) && rows >= 3_000) {
  await publication();
} else if (positionals[0] === 'delivery' && seconds >= 10 && every >= 1) {
  await delivery();
} else if (positionals[0] === 'release') {
  await release();
} else {
  console.log(help);
  process.exitCode = 2;
}

async function publication(): Promise<void> {
  const report = await runChaos(rows, log);
  console.table(report.kills);
  console.log(
    `deliveries: ${report.deliveries.expected} expected, ${report.deliveries.arrived} arrived, ${report.deliveries.repeated} of them again under the same delivery id`,
  );
  console.log(`rows: ${report.rows.state} in the state, ${report.rows.history} changes in the history`);
  conclude(report.faults);
}

async function delivery(): Promise<void> {
  const sizes = { editionEverySeconds: 5, customers: 20, companies: 10 };
  const { kills, ledger } = await runDeliveryChaos({ seconds, killEverySeconds: every, ...sizes }, log);
  console.table(kills);
  const { lost, uncalledFor, repeatedUnexplained, unrecorded, ...counts } = ledger;
  console.table({
    ...counts,
    repeatedUnexplained: repeatedUnexplained.length,
    repeatedShare: percent(repeatedShare(ledger)),
    lost: lost.length,
    uncalledFor: uncalledFor.length,
    unrecorded: unrecorded.length,
  });
  conclude(faultsOf(ledger));
}

async function release(): Promise<void> {
  const outcome = await runLastRelease({ thenRun: values.then, log });
  if (outcome.skipped === null) conclude(outcome.faults);
  else console.log(`skipped: ${outcome.skipped}`);
}

function conclude(faults: readonly string[]): void {
  console.log(`${faults.length} faults after ${((Date.now() - startedAt) / 1000).toFixed(0)} s`);
  for (const fault of faults.slice(0, 50)) console.log(`  ${fault}`);
  process.exitCode = faults.length === 0 ? 0 : 1;
}
