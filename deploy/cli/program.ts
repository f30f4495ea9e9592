import { CommanderError } from 'commander';
import { readBuild } from '../../pipelines/runtime/build.ts';
import { readLocalConfig, runningEndpointsFile } from '../local/config.ts';
import { PadronCommand } from './arguments.ts';
import { CommandContext, CommandError } from './context.ts';
import { explain } from './failures.ts';
import { addNouns } from './nouns.ts';

const context = new CommandContext({
  environment: process.env,
  endpointsFile: runningEndpointsFile(readLocalConfig().localDirectory),
  stdout: process.stdout,
  stderr: process.stderr,
});

/** Exit code that a shell reports for a program whose reader closed the pipe, as `| head` does: 128 + SIGPIPE. */
const exitPipeClosed = 141;
// A closed pipe (EPIPE) ends the command without a message. Any other error is a failure, for example a full disk.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(exitPipeClosed);
  process.stderr.write(`${explain(error)}\n`);
  process.exit(1);
});
// Progress and remarks are advice: the work goes on when nobody reads them any more.
process.stderr.on('error', () => {});

const isVersionAsked = process.argv[2] === '--version' || process.argv[2] === '-V';
const program = new PadronCommand('padron')
  // Without this call, Commander ends the process right after it has written its help, before the event `error` of
  // standard output (see above) can report that the write failed.
  .exitOverride()
  .description('Operates the register service: accounts, tokens, registers, publications, editions, the calendar.')
  .configureHelp({ optionTerm: ({ flags, mandatory }) => (mandatory ? `${flags} (required)` : flags) })
  .option('-V, --version', 'version and build of this release')
  .on('option:version', () => {
    const { version, build } = readBuild();
    context.show({}, {}, `padron ${version} (build ${build})`);
    throw new CommanderError(0, 'commander.version', version);
  })
  .showHelpAfterError('(run it with --help to see what it takes)')
  .remarks(
    `Addresses come from the environment (DATABASE_URL, CLICKHOUSE_URL, KAFKA_BROKERS, …), else from the local stack that
\`npm start\` runs here. Every command takes --json: one JSON document on standard output, nothing else.
Progress and errors go to standard error; a command that failed ends with another exit code than 0.`,
  )
  .examples(
    'accounts create --name "Estudio Uno" --plan crecimiento --json',
    'tokens create --account 1 --json',
    'registers',
  );

try {
  if (!isVersionAsked) await addNouns(program, context, process.argv[2]);
  await program.parseAsync(process.argv);
  process.exitCode = context.exitCode;
} catch (error) {
  const isExplained = error instanceof CommanderError;
  if (!isExplained) process.stderr.write(`${explain(error)}\n`);
  process.exitCode = isExplained || error instanceof CommandError ? error.exitCode : 1;
} finally {
  await context.close();
}
