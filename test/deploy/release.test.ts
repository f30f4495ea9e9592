import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { repositoryRoot } from '../../deploy/local/config.ts';
import { readLastRelease, runLastRelease } from '../chaos/release.ts';

it('the newest release of the change log is the version of package.json, and the one before names its commit', () => {
  const read = (name: string) => readFileSync(path.join(repositoryRoot, name), 'utf8');
  const { version } = JSON.parse(read('package.json')) as { version: string };
  expect(/^## (\S+)/m.exec(read('deploy/CHANGELOG.md'))?.[1]).toBe(version);
  expect(readLastRelease().version).not.toBe(version);
  expect(() => readLastRelease('## 2.0.0\n\n## 1.0.0\n\nCommit 39d6bf89.')).toThrow('no commit of the last release');
});

it('the last release passes its end-to-end tests on databases that these migrations made', async (context) => {
  const { skipped, faults } = await runLastRelease({ log: (line) => console.log(line) });
  if (skipped !== null) return context.skip(skipped);
  expect(faults).toEqual([]);
});
