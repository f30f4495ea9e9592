import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { adoptEdition } from '../../../../pipelines/editions/adopt.ts';
import type { ArchivedEdition } from '../../../../pipelines/editions/edition-archive.ts';
import { makePool, type Pool } from '../../../../pipelines/runtime/postgres.ts';
import { maxLists } from '../../../../pipelines/watch/lists.ts';
import { type FreshDatabase, migratedDatabase } from '../../../support/engines/isolation.ts';

let database: FreshDatabase;
let pool: Pool;
beforeAll(async () => {
  database = await migratedDatabase(inject('endpoints'));
  pool = makePool(database.DATABASE_URL, 'test', 2);
});
afterAll(async () => {
  await pool?.end();
  await database?.drop();
});

const register = 'padron_reducido';

/** An edition with 5 changes and 100 repeated rows. Nobody watched a company when its events were counted. */
function archivedEdition(number: number): ArchivedEdition {
  const times = { published_at: '2026-11-20T07:00:00Z', detected_at: '2026-11-20T08:00:00Z' };
  const edition = {
    ...{ register, number, fecha_dato: '2026-11-20', ...times, change_file_sha256: `hash-${number}`, corrects: null },
    ...{ changes: 105, counts: { notices: 0, baseline: 100 }, parser_version: 1, columns: [] },
  };
  const publication = {
    ...{ register, sha256: `publication-${number}`, fecha_dato: '2026-11-20', ...times },
    ...{ validators: {}, gates: [] },
  };
  return { edition, publication, correction: null };
}

test('an adopted edition skips every position that its lost events may have had, however lists grew', async () => {
  const { rows } = await pool.query<{ id: number }>(
    `INSERT INTO account (name, plan) VALUES ('Prueba', 'crecimiento'), ('Sin eventos', 'crecimiento') RETURNING id`,
  );
  const [account] = rows;
  await pool.query('INSERT INTO account_position (account_id, last_position) VALUES ($1, 10)', [account!.id]);
  await pool.query(
    'INSERT INTO register_head (register, partitions) VALUES ($1, 1) ON CONFLICT (register) DO UPDATE SET edition = 0',
    [register],
  );
  await adoptEdition(pool, register, archivedEdition(1));
  const positions = async () => {
    const found = await pool.query('SELECT last_position AS position FROM account_position ORDER BY account_id');
    return found.rows.map(({ position }) => position);
  };
  // Every one of the lists that an account may have can hold each of the 5 changed companies, with 4 events for each.
  const most = 5 * 4 * maxLists;
  expect(await positions()).toEqual([10 + most, most]);
  // A repeat finds the edition and skips nothing more.
  await adoptEdition(pool, register, archivedEdition(1));
  expect(await positions()).toEqual([10 + most, most]);
});
