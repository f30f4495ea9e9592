import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import type { Archive } from '../../../../pipelines/archive/archive.ts';
import { openArchive } from '../../../../pipelines/archive/open.ts';
import { ensureHead } from '../../../../pipelines/editions/heads.ts';
import { removeOldPublications } from '../../../../pipelines/editions/retention.ts';
import { migratePostgres } from '../../../../pipelines/runtime/migrate.ts';
import { makePool, type Pool } from '../../../../pipelines/runtime/postgres.ts';
import { freshDatabase } from '../../../support/engines/isolation.ts';

const register = 'agentes_retencion';
let folder: string;
let pool: Pool;
let archive: Archive;
let drop: () => Promise<unknown>;

beforeAll(async () => {
  const database = await freshDatabase(inject('endpoints'));
  await migratePostgres(database.DATABASE_URL);
  pool = makePool(database.DATABASE_URL, 'test', 2);
  drop = database.drop;
  folder = mkdtempSync(join(tmpdir(), 'padron-retention-'));
  archive = await openArchive(pathToFileURL(join(folder, 'archive')).href, join(folder, 'work'));
  await ensureHead(pool, register);
});
afterAll(async () => {
  await pool.end();
  await drop();
  rmSync(folder, { recursive: true, force: true });
});

async function publication(text: string, state: string, ageDays: number): Promise<string> {
  const sha256 = createHash('sha256').update(text).digest('hex');
  const file = join(folder, 'incoming');
  writeFileSync(file, text);
  await archive.put({ register, kind: 'publications', sha256 }, file);
  await pool.query(
    `INSERT INTO publication (register, sha256, state, published_at, downloaded_at)
     VALUES ($1, $2, $3, now() - make_interval(days => $4), now() - make_interval(days => $4))`,
    [register, sha256, state, ageDays],
  );
  return sha256;
}
const isKept = async (sha256: string) => (await archive.size({ register, kind: 'publications', sha256 })) !== null;

test('removes old bytes and records when, but keeps those under the head and those not decided yet', async () => {
  const old = await publication('old', 'publicada', 40);
  const oldAgain = await publication('seen again', 'sustituida', 40);
  await publication('seen again', 'repetida', 3);
  const young = await publication('young', 'publicada', 20);
  const quarantined = await publication('quarantined', 'en_cuarentena', 90);
  const head = await publication('head', 'publicada', 60);
  await pool.query('UPDATE register_head SET publication_sha256 = $2 WHERE register = $1', [register, head]);

  expect(await removeOldPublications(pool, archive, register, 30)).toBe(1);
  expect(await isKept(old)).toBe(false);
  for (const sha256 of [oldAgain, young, quarantined, head]) expect(await isKept(sha256)).toBe(true);
  const { rows } = await pool.query('SELECT sha256 FROM publication WHERE removed_at IS NOT NULL');
  expect(rows).toEqual([{ sha256: old }]);
  expect(await removeOldPublications(pool, archive, register, 30)).toBe(0);
});

test('a death between the removal and its record is repaired by the next run', async () => {
  const lost = await publication('lost', 'rechazada', 50);
  const dying: Pick<Archive, 'remove'> = {
    async remove(name) {
      await archive.remove(name);
      throw new Error('the process died here');
    },
  };
  await expect(removeOldPublications(pool, dying, register, 30)).rejects.toThrow('died here');
  expect(await isKept(lost)).toBe(false);
  expect(await removeOldPublications(pool, archive, register, 30)).toBe(1);
  const { rows } = await pool.query('SELECT removed_at IS NOT NULL AS noted FROM publication WHERE sha256 = $1', [
    lost,
  ]);
  expect(rows).toEqual([{ noted: true }]);
});

test('removes nothing while a publication is in progress, because it may have the same bytes', async () => {
  const old = await publication('another old one', 'publicada', 45);
  await pool.query(`INSERT INTO publication (register, state) VALUES ($1, 'detectada')`, [register]);
  expect(await removeOldPublications(pool, archive, register, 30)).toBe(0);
  expect(await isKept(old)).toBe(true);
});
