import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { readBuild } from '../../../../pipelines/runtime/build.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'padron-build-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const git = (...words: string[]) =>
  execFileSync('git', ['-C', folder, '-c', 'user.name=t', '-c', 'user.email=t@example.com', ...words], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  }).trim();
const hasGit = (() => {
  try {
    return execFileSync('git', ['--version']).length > 0;
  } catch {
    return false;
  }
})();

test('the version is that of package.json, and an image names its build', () => {
  const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };
  expect(readBuild(undefined, { PADRON_BUILD_ID: '2026-11-29.3' })).toEqual({ version, build: '2026-11-29.3' });
});

test('where nothing can be read, both are unknown', () => {
  expect(readBuild(folder, {})).toEqual({ version: 'unknown', build: 'unknown' });
  expect(readBuild(join(folder, 'missing'), { PADRON_BUILD_ID: '' })).toEqual({ version: 'unknown', build: 'unknown' });
  mkdirSync(join(folder, '.git'));
  for (const text of ['{ half', '[]', '{"version": 1}']) {
    writeFileSync(join(folder, 'package.json'), text);
    expect(readBuild(folder, {})).toEqual({ version: 'unknown', build: 'unknown' });
  }
});

test.runIf(hasGit)("a checkout's build is its commit, and a package inside another repository has none", () => {
  git('init', '--quiet');
  expect(readBuild(folder, {}).build).toBe('unknown');
  git('commit', '--quiet', '--allow-empty', '--message', 'first');
  expect(readBuild(folder, {}).build).toBe(git('rev-parse', 'HEAD').slice(0, 12));
  expect(readBuild(folder, { PADRON_BUILD_ID: 'image' }).build).toBe('image');
  const installed = join(folder, 'node_modules', 'padron');
  mkdirSync(installed, { recursive: true });
  expect(readBuild(installed, {}).build).toBe('unknown');
});
