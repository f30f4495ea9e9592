import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, test } from 'vitest';
import { startChain } from '../../../../../deploy/local/demo/chain.ts';
import { takeLock } from '../../../../../deploy/local/process.ts';
import { stackLockFile } from '../../../../../deploy/local/stack.ts';

test('a second demo says that one runs and leaves its data alone', async () => {
  const directory = mkdtempSync(path.join(tmpdir(), 'padron-demo-'));
  const lock = stackLockFile(path.join(directory, 'engines'));
  mkdirSync(path.dirname(lock), { recursive: true });
  takeLock(lock);
  await expect(startChain({ directory, log: () => undefined })).rejects.toThrow(`in process ${process.pid}: stop it`);
  expect(existsSync(lock)).toBe(true);
  rmSync(directory, { recursive: true });
});
