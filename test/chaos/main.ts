import { parseArgs } from 'node:util';
import { runChaos } from './publication.ts';

const help = `npm run chaos -- publication [--rows N]

Publishes two days of an invented register on a stack of its own; in the middle of each it kills -9 the worker, the
consumers, Kafka and the ClickHouse process, one after another, and starts each again. Then it compares state, history
and notices with an undisturbed run. Exit code 0 only if nothing differs.

  npm run chaos -- publication                 800000 rows
  npm run chaos -- publication --rows 100000`;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { help: { type: 'boolean', short: 'h' }, rows: { type: 'string', default: '800000' } },
});
const rows = Number(values.rows);

if (values.help || positionals[0] !== 'publication' || !Number.isInteger(rows) || rows < 3_000) {
  console.log(help);
  process.exitCode = values.help ? 0 : 2;
} else {
  const startedAt = Date.now();
  const report = await runChaos(rows, (line) => console.log(line));
  console.table(report.kills);
  console.log(
    `notices: ${report.notices.expected} expected, ${report.notices.arrived} arrived, ${report.notices.repeated} of them again under the same delivery id`,
  );
  console.log(`rows: ${report.rows.state} in the state, ${report.rows.history} changes in the history`);
  console.log(`${report.faults.length} faults after ${((Date.now() - startedAt) / 1000).toFixed(0)} s`);
  for (const fault of report.faults) console.log(`  ${fault}`);
  process.exitCode = report.faults.length === 0 ? 0 : 1;
}
