const shownLines = 60;

/**
 * Runs a kill test with a log that is kept in memory. When the test fails, its error shows the end of the log: where the
 * test ran on another machine, nobody can look at anything else.
 */
export async function withSeenLines<Result>(run: (log: (line: string) => void) => Promise<Result>): Promise<Result> {
  const startedAt = Date.now();
  const lines: string[] = [];
  try {
    return await run((line) => lines.push(`${((Date.now() - startedAt) / 1000).toFixed(1)} s  ${line}`));
  } catch (error) {
    const seen = lines.slice(-shownLines).join('\n');
    throw new Error(`${error instanceof Error ? error.message : error}; seen before it:\n${seen}`, { cause: error });
  }
}
