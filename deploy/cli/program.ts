import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { Command } from 'commander';
import { makeContext } from './context.ts';
import { explain } from './failures.ts';
import { registerNouns } from './nouns.ts';

const repository = fileURLToPath(new URL('../..', import.meta.url));
const localDirectory = process.env.PADRON_LOCAL_DIR || path.join(repository, '.local');

const context = makeContext({
  environment: process.env,
  endpointsFile: path.join(localDirectory, 'run', 'endpoints.json'),
  stdout: process.stdout,
  stderr: process.stderr,
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
