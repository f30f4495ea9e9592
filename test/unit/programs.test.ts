import { execFile } from 'node:child_process';
import { expect, test } from 'vitest';
import { repositoryRoot } from '../../deploy/local/config.ts';

// An option that a program of package.json does not take would otherwise be ignored, and the program would do or measure
// something else for minutes.

function run(program: string, ...words: string[]): Promise<{ status: number | null; stdout: string; stderr: string }> {
  return new Promise((resolve) => {
    const child = execFile(
      process.execPath,
      ['--import', 'tsx', program, ...words],
      { cwd: repositoryRoot },
      (_error, stdout, stderr) => resolve({ status: child.exitCode, stdout, stderr }),
    );
  });
}

test.concurrent.each([
  ['test/bench/main.ts', ['diff', '--rowz', '5'], '--rowz', 'npm run bench -- diff'],
  ['test/bench/main.ts', ['lookup', '2000000'], '2000000', '`--seconds S`'],
  ['test/bench/main.ts', ['diff', '--rows', 'many'], '--rows', 'whole number'],
  ['test/bench/main.ts', ['delivery', '--only', 'WRONG'], '--only', 'throughput'],
  ['test/bench/main.ts', ['delivery', '--only'], '--only', 'throughput'],
  ['test/chaos/main.ts', ['publication', '--rowz', '5'], '--rowz', 'npm run chaos -- publication'],
  ['test/chaos/main.ts', ['delivery', '--seconds', '5'], '--seconds', 'from 10 on'],
  ['deploy/local/main.ts', ['--port', '5'], '--port', 'npm run local:'],
  ['deploy/local/demo/main.ts', ['--quick'], '--quick', 'npm run demo:'],
])('%s %j names what it does not take and prints its help, without a stack', async (program, words, named, help) => {
  const { status, stdout, stderr } = await run(program, ...words);
  expect([status, stdout]).toEqual([2, '']);
  expect(stderr.split('\n')[0]).toContain(named);
  expect(stderr).toContain(help);
  expect(stderr).not.toMatch(/\n {4}at /);
});

test.concurrent('bench lists its benches, and each has its help', async () => {
  const { status, stderr } = await run('test/bench/main.ts', 'nothing');
  const benches = /^names: (.*)$/m.exec(stderr)![1]!.split(', ');
  expect([status, benches]).toEqual([2, expect.arrayContaining(['daily', 'delivery', 'diff', 'lookup', 'search'])]);
  expect(benches).not.toContain('figures');
  const help = await run('test/bench/main.ts', 'daily', '--help');
  expect([help.status, help.stderr]).toEqual([0, '']);
  expect(help.stdout).toMatch(/^npm run bench -- daily \[options\]\n\n`--rows N`/);
});
