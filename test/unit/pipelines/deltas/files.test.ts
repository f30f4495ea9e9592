import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { DeltaFiles, type DeltaLimits, defaultDeltaLimits } from '../../../../pipelines/deltas/files.ts';
import { type Delta, type DeltaJob, deltaFolder, fileKeyOf } from '../../../../pipelines/deltas/job.ts';
import type { RunJob } from '../../../../pipelines/runtime/job-process.ts';
import { makeLogger } from '../../../../pipelines/runtime/log.ts';

const folder = mkdtempSync(join(tmpdir(), 'padron-delta-files-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
let scenes = 0;

const deltaOf = (edition: number, changes = 1): Delta => ({
  ...{ register: 'padron_reducido', edition, sha256: 'ab'.repeat(32), changes, fechaDato: '2026-11-22' },
  ...{ form: 'ndjson', audience: 'companies' },
});

/** A maker whose jobs end when the test says so. */
function makeScene(limits: Partial<DeltaLimits> = {}) {
  const workDir = join(folder, String(++scenes));
  const jobs: { large: boolean; end(answer: object): void }[] = [];
  const runner =
    (large: boolean): RunJob =>
    (job, _report, signal) =>
      new Promise((resolve, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason));
        const end = (answer: object) => {
          const path = join(workDir, deltaFolder, fileKeyOf((job as DeltaJob).delta));
          mkdirSync(dirname(path), { recursive: true });
          if ('rows' in answer) writeFileSync(path, 'the file');
          resolve({ answer: answer as { kind: string }, end: '', errorText: '' });
        };
        jobs.push({ large, end });
      });
  const files = new DeltaFiles({
    ...{ archiveUrl: 'file:///nowhere', workDir, log: makeLogger('test', 'fatal') },
    limits: { ...defaultDeltaLimits, waitMs: 20, ...limits },
    run: { small: runner(false), large: runner(true) },
  });
  return { files, jobs };
}

const done = { kind: 'done', rows: 1 };
const isProblem = (code: string) => expect.objectContaining({ code });

describe('a delta file that is not there', () => {
  test('is made once for all who ask, also when nobody waits any more', async () => {
    const { files, jobs } = makeScene();
    const asked = [files.open(deltaOf(1), 1), files.open(deltaOf(1), 2)];
    for (const each of await Promise.allSettled(asked)) expect(each).toMatchObject({ reason: isProblem('preparing') });
    expect(jobs).toHaveLength(1);
    jobs[0]!.end(done);
    const { file, bytes } = await files.open(deltaOf(1), 1);
    expect(bytes).toBe(8);
    await file.close();
    expect(jobs).toHaveLength(1);
  });

  test('is opened by a request that still waits', async () => {
    const { files, jobs } = makeScene({ waitMs: 30_000 });
    const asked = files.open(deltaOf(1), 1);
    await expect.poll(() => jobs.length).toBe(1);
    jobs[0]!.end(done);
    await (await asked).file.close();
  });

  test('of a large edition is made beside the small ones', async () => {
    const { files, jobs } = makeScene();
    for (const delta of [deltaOf(1, 200_001), deltaOf(2, 200_000)])
      await expect(files.open(delta, 1)).rejects.toEqual(isProblem('preparing'));
    expect(jobs.map(({ large }) => large)).toEqual([true, false]);
  });

  test('waits its turn only behind so many others, of the same account and in all', async () => {
    const { files, jobs } = makeScene({ maxQueued: 3, maxQueuedPerAccount: 2 });
    const ask = (edition: number, owner: number) => files.open(deltaOf(edition), owner).catch(({ code }) => code);
    expect(await Promise.all([ask(1, 1), ask(2, 1), ask(3, 1)])).toEqual(['preparing', 'preparing', 'busy']);
    expect(await Promise.all([ask(1, 2), ask(3, 2), ask(4, 3)])).toEqual(['preparing', 'preparing', 'busy']);
    jobs[0]!.end(done);
    await expect.poll(() => ask(4, 3)).toBe('preparing');
  });

  test('and cannot be made is not tried again at once', async () => {
    const { files, jobs } = makeScene({ waitMs: 30_000, failureMs: 60_000 });
    const asked = files.open(deltaOf(1), 1);
    await expect.poll(() => jobs.length).toBe(1);
    jobs[0]!.end({ kind: 'failed', code: 'hash_mismatch', message: 'is damaged' });
    await expect(asked).rejects.toEqual(isProblem('failed'));
    await expect(files.open(deltaOf(1), 1)).rejects.toEqual(isProblem('failed'));
    expect(jobs).toHaveLength(1);
  });

  test('is tried again when the failure is forgotten, as after somebody brought the change file back', async () => {
    const { files, jobs } = makeScene({ waitMs: 30_000, failureMs: 0 });
    const asked = files.open(deltaOf(1), 1);
    await expect.poll(() => jobs.length).toBe(1);
    jobs[0]!.end({ kind: 'failed', code: 'not_found', message: 'is away' });
    await expect(asked).rejects.toEqual(isProblem('failed'));
    const again = files.open(deltaOf(1), 1);
    await expect.poll(() => jobs.length).toBe(2);
    jobs[1]!.end(done);
    await (await again).file.close();
  });

  test('is not waited for when the process stops', async () => {
    const { files, jobs } = makeScene({ waitMs: 30_000 });
    const asked = expect(files.open(deltaOf(1), 1)).rejects.toThrow('the process stops');
    await expect.poll(() => jobs.length).toBe(1);
    await files.stop();
    await asked;
  });
});
