import { Registry } from 'prom-client';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { addBackupMetric } from '../../../../workflows/backups.ts';
import { type CliStage, makeCliStage } from '../../../support/process/cli-stage.ts';

let stage: CliStage;
beforeAll(async () => {
  stage = await makeCliStage(inject('endpoints'));
});
afterAll(() => stage.close());

const record = (...words: string[]) => stage.padron('backup', 'record', ...words);
const listed = async (...words: string[]) =>
  (await stage.document<{ label: string }[]>('backup', 'list', ...words)).map(({ label }) => label);

/** The metric's ages in whole minutes by kind. */
async function minutesByKind(): Promise<Record<string, number>> {
  const metrics = new Registry();
  addBackupMetric(metrics, stage.pool);
  const lines = (await metrics.metrics()).matchAll(/padron_backup_age_seconds\{kind="(\w+)"\} (\S+)/g);
  return Object.fromEntries([...lines].map(([, kind, seconds]) => [kind, Math.floor(Number(seconds) / 60)]));
}

test('a kind without a backup has no age, and the list says where backups are explained', async () => {
  expect(await minutesByKind()).toEqual({});
  expect((await stage.padron('backup', 'list')).stdout).toMatch(
    /No backup is recorded: see deploy\/backup\/README\.md/,
  );
});

test('the age counts from the newest backup of each kind, and the list shows the newest first', async () => {
  const minutesAgo = (minutes: number) => new Date(Date.now() - minutes * 60_000).toISOString();
  await record('--kind', 'base', '--label', 'monday', '--at', minutesAgo(600));
  await record('--kind', 'base', '--label', 'tuesday', '--at', minutesAgo(90.5));
  await record('--kind', 'archive', '--label', 'copy');
  expect(await minutesByKind()).toEqual({ base: 90, archive: 0 });
  expect(await listed()).toEqual(['copy', 'tuesday', 'monday']);
  expect(await listed('--kind', 'base', '--limit', '1')).toEqual(['tuesday']);
  // A repeat of an older record changes nothing. A later backup under the same name counts from its own time.
  await record('--kind', 'base', '--label', 'tuesday', '--at', minutesAgo(500));
  expect(await minutesByKind()).toEqual({ base: 90, archive: 0 });
  await record('--kind', 'base', '--label', 'tuesday', '--at', minutesAgo(30.5));
  expect(await minutesByKind()).toEqual({ base: 30, archive: 0 });
});

test('a time in the future, an unknown kind and an empty label are refused', async () => {
  const future = new Date(Date.now() + 3_600_000).toISOString();
  await stage.expectRefused(['backup', 'record', '--kind', 'base', '--label', 'x', '--at', future], /in the future/);
  await stage.expectRefused(['backup', 'record', '--kind', 'kafka', '--label', 'x'], /base, wal, archive/);
  await stage.expectRefused(['backup', 'record', '--kind', 'base', '--label', ' '], /--label is empty/);
});
