import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { repositoryRoot } from '../../../../deploy/local/config.ts';

const program = path.join(repositoryRoot, 'deploy', 'backup', 'archive-wal');
const name = '000000010000000000000003';
let folder: string;
let kept: string;
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'padron-archive-wal-'));
  kept = path.join(folder, 'kept');
  mkdirSync(kept);
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** Archives a WAL file of this content, as PostgreSQL would. Returns the exit code. */
function archive(content: string, to = kept): number | null {
  const wal = path.join(folder, 'wal');
  writeFileSync(wal, content);
  return spawnSync(program, [wal, name, to], { stdio: 'ignore' }).status;
}

const archived = () => readFileSync(path.join(kept, name), 'utf8');

test('a WAL file is copied under its name, and a repeat of it is right', () => {
  expect(archive('records')).toBe(0);
  expect(archive('records')).toBe(0);
  expect(archived()).toBe('records');
  expect(readdirSync(kept)).toEqual([name]);
});

test('a file of the same name with other bytes is refused and replaces nothing', () => {
  archive('records');
  expect(archive('others')).not.toBe(0);
  expect(archived()).toBe('records');
});

test('a copy that was cut off is made anew', () => {
  writeFileSync(path.join(kept, `${name}.part`), 'rec');
  expect(archive('records')).toBe(0);
  expect(archived()).toBe('records');
  expect(readdirSync(kept)).toEqual([name]);
});

test('a folder that is not there is an error, so that PostgreSQL keeps its file', () => {
  expect(archive('records', path.join(folder, 'unmounted'))).not.toBe(0);
});
