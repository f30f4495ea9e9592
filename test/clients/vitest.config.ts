import { defineConfig } from 'vitest/config';
import { ClosingLine } from '../support/process/closing-line.ts';

// `npm run test:clients`. It is not a project of the main configuration, because it fetches compilers' packages and takes
// minutes. The API needs these two engines.
process.env.PADRON_TEST_ENGINES ??= 'postgres,clickhouse';

const minutes = 60_000;

export default defineConfig({
  test: {
    reporters: ['default', new ClosingLine()],
    include: ['test/clients/*.test.ts'],
    globalSetup: ['test/support/engines/stack.ts'],
    // The first run fetches every generator.
    testTimeout: 20 * minutes,
    hookTimeout: 5 * minutes,
    maxConcurrency: 2,
  },
});
