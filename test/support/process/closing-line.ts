import { appendFileSync } from 'node:fs';
import type { Reporter, TestModule, TestRunEndReason } from 'vitest/node';

/**
 * Ends a run with the line `N passed, M failed[, K skipped]`, which is easy to read for people and programs. With
 * PADRON_TEST_COUNTS set to a file, the run appends the three numbers to it instead, and .ci/run prints one line for
 * several runs.
 */
export class ClosingLine implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], errors: readonly unknown[], reason: TestRunEndReason): void {
    const counts = { passed: 0, failed: 0, skipped: 0 };
    for (const module of modules) {
      for (const test of module.children.allTests()) {
        const { state } = test.result();
        if (state === 'passed' || state === 'failed' || state === 'skipped') counts[state] += 1;
      }
      // A file that could not be loaded or whose hooks failed contains no failed test, but counts as a failure.
      if (module.state() === 'failed' && [...module.children.allTests('failed')].length === 0) counts.failed += 1;
    }
    counts.failed += errors.length;
    if (reason === 'interrupted') counts.failed += 1;
    const file = process.env.PADRON_TEST_COUNTS;
    const skipped = counts.skipped > 0 ? `, ${counts.skipped} skipped` : '';
    // Printed on exit, because the default reporter prints its summary on this same event.
    process.once('exit', () => {
      if (file) appendFileSync(file, `${counts.passed} ${counts.failed} ${counts.skipped}\n`);
      else console.log(`\n${counts.passed} passed, ${counts.failed} failed${skipped}`);
    });
  }
}
