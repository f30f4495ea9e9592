import { defineConfig } from 'vitest/config';
import { ClosingLine } from './test/support/closing-line.ts';

// Three kinds of test by what they need: nothing, the time-skipping Temporal server, or the local stack. Files that use
// engines run one after another, since two cores carry the engines as well; the kinds run in this order.
const oneFileAtATime = { fileParallelism: false, testTimeout: 120_000, hookTimeout: 180_000 };

export default defineConfig({
  test: {
    reporters: ['default', new ClosingLine()],
    projects: [
      {
        test: { name: 'unit', include: ['test/unit/**/*.test.ts'], testTimeout: 30_000, sequence: { groupOrder: 0 } },
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
          include: ['test/{contract,integration,e2e,chaos}/**/*.test.ts'],
          globalSetup: ['test/support/stack.ts'],
          sequence: { groupOrder: 2 },
          ...oneFileAtATime,
        },
      },
    ],
  },
});
