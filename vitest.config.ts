import { defineConfig } from 'vitest/config';
import { ClosingLine } from './test/support/process/closing-line.ts';
import { SlowFilesFirst } from './test/support/process/slow-files-first.ts';

// Kafka lives for a minute or a few. Java's second compiler would take more CPU time than it saves.
process.env.JDK_JAVA_OPTIONS ??= '-XX:TieredStopAtLevel=1';

// Five kinds of test by what they need: nothing, the time-skipping Temporal server, the local stack, a browser and a
// database, or a whole product of their own. The kinds run in this order. Files that share the stack take their own names in it. Three of them run at a
// time, and three whole products, because they wait more than they compute.
// A condition is waited for as long as a busy machine may need. The default of `expect.poll` is one second.
const longTimeouts = { testTimeout: 120_000, hookTimeout: 180_000, expect: { poll: { timeout: 30_000 } } };

export default defineConfig({
  test: {
    reporters: ['default', new ClosingLine()],
    sequence: { sequencer: SlowFilesFirst },
    projects: [
      {
        test: {
          name: 'unit',
          include: ['test/unit/**/*.test.ts'],
          ...longTimeouts,
          // Starting a process and loading the product again for each file took two thirds of the CPU time of these files.
          pool: 'threads',
          isolate: false,
          // The default leaves one core idle.
          maxWorkers: '100%',
          sequence: { groupOrder: 0 },
        },
      },
      {
        test: {
          name: 'workflow',
          include: ['test/{workflow,replay}/**/*.test.ts'],
          sequence: { groupOrder: 1 },
          ...longTimeouts,
          // Temporal's test server has five seconds to start, which is too short beside another one.
          fileParallelism: false,
          // One process bundles the workflows once for all files.
          isolate: false,
        },
      },
      {
        test: {
          name: 'engines',
          include: ['test/{contract,integration}/**/*.test.ts', 'test/e2e/api*.test.ts'],
          globalSetup: ['test/support/engines/stack.ts'],
          sequence: { groupOrder: 2 },
          ...longTimeouts,
          maxWorkers: 3,
          // Three processes run all files, since loading the product again for each one takes two seconds or more.
          isolate: false,
          // Both files and the engines share the machine, so a wait for another process can be too short by chance. A test
          // that needed its second run is shown as such.
          retry: 1,
        },
      },
      {
        test: {
          name: 'pages',
          include: ['test/pages/**/*.test.ts'],
          globalSetup: ['test/support/pages/database.ts'],
          sequence: { groupOrder: 3 },
          ...longTimeouts,
          // Each file has a browser of its own, which takes half a core while it is busy.
          maxWorkers: 2,
          // Two processes run all files, since loading the product again for each one takes two seconds or more.
          isolate: false,
        },
      },
      {
        test: {
          name: 'whole',
          include: ['test/e2e/chain.test.ts', 'test/chaos/**/*.test.ts'],
          sequence: { groupOrder: 4 },
          ...longTimeouts,
          maxWorkers: 3,
        },
      },
    ],
  },
});
