import { Command } from 'commander';
import { readLocalConfig, runningEndpointsFile } from '../local/config.ts';
import { makeContext } from './context.ts';
import { explain } from './failures.ts';
import { registerNouns } from './nouns.ts';

const context = makeContext({
  environment: process.env,
  endpointsFile: runningEndpointsFile(readLocalConfig().localDirectory),
  stdout: process.stdout,
  stderr: process.stderr,
});

// Of a pipe: its reader has had enough (`| head`), and a shell would say so by this code. Of a file: the disk is full.
const exitPipeClosed = 141;
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(exitPipeClosed);
  process.stderr.write(`${explain(error)}\n`);
  process.exit(1);
});

const program = new Command('padron')
  .description('Operates the register service: accounts, tokens, registers, publications, editions, the calendar.')
  .configureHelp({ optionTerm: ({ flags, mandatory }) => (mandatory ? `${flags} (required)` : flags) })
  .showHelpAfterError('(run it with --help to see what it takes)')
  .addHelpText(
    'after',
    `
Addresses come from the environment (DATABASE_URL, CLICKHOUSE_URL, KAFKA_BROKERS, …), else from the local stack that
\`npm start\` runs here. Every command takes --json: one JSON document on standard output, nothing else.
Progress and errors go to standard error; a command that failed ends with another exit code than 0.

Examples:
  $ npx padron accounts create --name "Estudio Uno" --plan crecimiento --json
  $ npx padron tokens create --account 1 --json
  $ npx padron registers`,
  );

try {
  await registerNouns(program, context, process.argv[2]);
  await program.parseAsync(process.argv);
} catch (error) {
  process.stderr.write(`${explain(error)}\n`);
  process.exitCode = 1;
} finally {
  await context.close();
}
