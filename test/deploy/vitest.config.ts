import { defineConfig } from 'vitest/config';
import { ClosingLine } from '../support/process/closing-line.ts';

// `npm run test:deploy`: what an operator installs. It is not a project of the main configuration, because its first run
// fetches and compiles tools, and some of them exist on Linux only.

const minutes = 60_000;

export default defineConfig({
  test: {
    reporters: ['default', new ClosingLine()],
    include: ['test/deploy/**/*.test.ts'],
    // The first test that needs a tool waits until it is there.
    testTimeout: 15 * minutes,
    hookTimeout: 15 * minutes,
    maxWorkers: 4,
  },
});
