import { defineConfig } from 'vitest/config';

// Three kinds of test by what they need: nothing, the local stack, or the time-skipping Temporal server.
// Files that use engines run one after another: the machine has two cores and the engines share them.
const onEngines = {
  fileParallelism: false,
  testTimeout: 120_000,
  hookTimeout: 180_000,
};

export default defineConfig({
  test: {
    reporters: ['default'],
    projects: [
      { test: { name: 'unit', include: ['test/unit/**/*.test.ts'], testTimeout: 20_000 } },
      {
        test: {
          name: 'engines',
          include: ['test/{contract,integration,e2e,chaos}/**/*.test.ts'],
          globalSetup: ['test/support/stack.ts'],
          ...onEngines,
        },
      },
      { test: { name: 'workflow', include: ['test/{workflow,replay}/**/*.test.ts'], ...onEngines } },
    ],
  },
});
