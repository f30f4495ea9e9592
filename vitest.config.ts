import { defineConfig } from 'vitest/config';
import { ClosingLine } from './test/support/process/closing-line.ts';

// Four kinds of test by what they need: nothing, the time-skipping Temporal server, the local stack, or a whole product of
// their own. Files that share the stack take names of their own in it, and two run at a time, since much of their time is
// waiting; whole products run one after another. The kinds run in this order.
// Where two tests share the machine, one that fails is run once more, and shown as such: a wait may be too short by chance.
// Never those that kill whole products: what they find once is a finding.
const retry = 1;
const oneFileAtATime = { fileParallelism: false, testTimeout: 120_000, hookTimeout: 180_000 };

export default defineConfig({
  test: {
    reporters: ['default', new ClosingLine()],
    projects: [
      {
        test: {
          name: 'unit',
          include: ['test/unit/**/*.test.ts'],
          testTimeout: 30_000,
          retry,
          sequence: { groupOrder: 0 },
        },
      },
      {
        test: {
          name: 'workflow',
          include: ['test/{workflow,replay}/**/*.test.ts'],
          sequence: { groupOrder: 1 },
          ...oneFileAtATime,
        },
      },
      {
        test: {
          name: 'engines',
          include: ['test/{contract,integration}/**/*.test.ts', 'test/e2e/api*.test.ts'],
          globalSetup: ['test/support/engines/stack.ts'],
          sequence: { groupOrder: 2 },
          ...oneFileAtATime,
          fileParallelism: true,
          maxWorkers: 2,
          retry,
        },
      },
      {
        test: {
          name: 'whole',
          include: ['test/e2e/chain.test.ts', 'test/chaos/**/*.test.ts'],
          sequence: { groupOrder: 3 },
          ...oneFileAtATime,
        },
      },
    ],
  },
});
