import pc from 'picocolors';

/** What a command that runs until it is told to stop can use. */
export interface Foreground {
  /** Called in reverse order of registration when the command ends. Register as soon as there is something to stop. Is a `goOn`. */
  onStop(stop: () => Promise<void> | void): void;
  /** Between two steps of a long start. @throws what ends the command without a word, when it was told to stop meanwhile */
  goOn(): void;
  /** Ends the command with exit code 1. The reason is printed. */
  fail(reason: string): void;
  /** Ends the command with exit code 0: it has done what it was started for. */
  end(): void;
}

const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
const secondSignalExitCode = 130;
const sameKeyPressMs = 1000; // npm passes Ctrl-C on to a process that has had it from the terminal already

class ToldToStop extends Error {}

/**
 * Runs `start`, waits for Ctrl-C, SIGTERM or a failure, then stops all in reverse and resolves with the exit code.
 * A signal during the start is obeyed at its next `goOn`; a second one ends the process at once.
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
    if (isEnding) return; // what ends while we stop is no news
    exitCode = 1;
    console.error(reason);
    end();
  };
  process.stdout.on('error', () => undefined); // a closed pipe must not keep the engines from an orderly stop
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
  const goOn = () => {
    if (isEnding) throw new ToldToStop();
  };
  const onStop = (stop: () => Promise<void> | void) => {
    stops.push(stop);
    goOn();
  };
  try {
    await start({ onStop, goOn, fail, end });
  } catch (error) {
    if (!(error instanceof ToldToStop)) fail(error instanceof Error ? error.message : String(error));
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

/** Two columns for a terminal. */
export function addressTable(rows: readonly (readonly [string, string | undefined])[]): string {
  const present = rows.filter((row): row is [string, string] => row[1] !== undefined && row[1] !== '');
  const width = Math.max(...present.map(([name]) => name.length));
  return present.map(([name, value]) => `  ${pc.bold(name.padEnd(width))}  ${value}`).join('\n');
}
