import { type ParseArgsConfig, parseArgs } from 'node:util';
import pc from 'picocolors';

/** The functions that `runInForeground` gives to a command that runs until Ctrl-C. */
export interface Foreground {
  /**
   * Adds a function to run at the end. The function that was added last runs first.
   * @throws StopRequested when the command is already ending; the added function still runs
   */
  onStop(stop: () => Promise<void> | void): void;
  /**
   * Call it between two steps of a long start. After a signal it ends the start.
   * @throws StopRequested, for which no message is printed
   */
  checkStopped(): void;
  /** Ends the command with exit code 1. The reason is printed. */
  fail(reason: string): void;
  /** Ends the command with exit code 0, when it has done its work. */
  end(): void;
}

const exitUsage = 2;

/** Reads the arguments of a program. For an unknown argument it prints the help, without a stack trace, and exits. */
export function readArguments<const Config extends ParseArgsConfig>(help: string, config: Config) {
  try {
    return parseArgs(config);
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : error}\n\n${help}`);
    process.exit(exitUsage);
  }
}

/** The options of a program that takes only --help. */
export const helpOption = { options: { help: { type: 'boolean', short: 'h' } } } as const;

const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
const secondSignalExitCode = 130;
const sameKeyPressMs = 1000; // one Ctrl-C may come twice: from the terminal, and passed on by npm

class StopRequested extends Error {}

/**
 * Runs `start` and waits for a signal or a failure. Then stops everything in reverse order and returns the exit code. A
 * signal during `start` takes effect at the next `checkStopped`. A second signal ends the process at once.
 */
export async function runInForeground(start: (foreground: Foreground) => Promise<void>): Promise<number> {
  const stops: (() => Promise<void> | void)[] = [];
  let exitCode = 0;
  let isEnding = false;
  let firstSignalAt = Number.POSITIVE_INFINITY;
  let end: () => void = () => undefined;
  const ended = new Promise<void>((resolve) => {
    end = () => {
      isEnding = true;
      resolve();
    };
  });
  const fail = (reason: string) => {
    if (isEnding) return; // processes that end while everything stops are no failure
    exitCode = 1;
    console.error(reason);
    end();
  };
  process.stdout.on('error', () => undefined); // a closed pipe must not end this process before the engines stopped
  process.stderr.on('error', () => undefined);
  for (const signal of signals) {
    process.on(signal, () => {
      if (Date.now() - firstSignalAt > sameKeyPressMs) process.exit(secondSignalExitCode);
      if (Number.isFinite(firstSignalAt)) return;
      firstSignalAt = Date.now();
      console.log('\nstopping (once more: at once)');
      end();
    });
  }
  const checkStopped = () => {
    if (isEnding) throw new StopRequested();
  };
  const onStop = (stop: () => Promise<void> | void) => {
    stops.push(stop);
    checkStopped();
  };
  try {
    await start({ onStop, checkStopped, fail, end });
  } catch (error) {
    if (!(error instanceof StopRequested)) fail(error instanceof Error ? error.message : String(error));
  }
  await ended;
  for (const stop of stops.reverse()) {
    try {
      await stop();
    } catch (error) {
      exitCode = 1;
      console.error(error);
    }
  }
  return exitCode;
}

/** Names and addresses in two columns. Rows without an address are left out. */
export function addressTable(rows: readonly (readonly [string, string | undefined])[]): string {
  const present = rows.filter((row): row is [string, string] => row[1] !== undefined && row[1] !== '');
  const width = Math.max(...present.map(([name]) => name.length));
  return present.map(([name, value]) => `  ${pc.bold(name.padEnd(width))}  ${value}`).join('\n');
}
