import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { countServed } from '../../../../pipelines/editions/freshness.ts';
import { makePool, type Pool } from '../../../../pipelines/runtime/postgres.ts';
import { migratedDatabase } from '../../../support/engines/isolation.ts';

let pool: Pool;
let drop: () => Promise<unknown>;
beforeAll(async () => {
  const database = await migratedDatabase(inject('endpoints'));
  drop = database.drop;
  pool = makePool(database.DATABASE_URL, 'test', 2);
});
afterAll(async () => {
  await pool.end();
  await drop();
});

/** Ages in minutes. `served` is null while look-ups do not show the edition. */
async function edition(number: number, ages: { seen: number; detected: number; served: number | null }) {
  await pool.query(
    `WITH seen AS (
       INSERT INTO publication (register, sha256, state, published_at, detected_at)
       VALUES ('sancionados', $1::text, 'publicada', now(), now() - make_interval(mins => $2)) RETURNING id)
     INSERT INTO edition (register, number, publication_id, fecha_dato, published_at, detected_at, change_file_sha256,
       parser_version, columns, changes, counts, materializada_at)
     SELECT 'sancionados', $1::text::bigint, id, now(), now(), now() - make_interval(mins => $3), '', 1, '{}', 1, '{}',
       now() - make_interval(mins => $4) FROM seen`,
    [String(number), ages.seen, ages.detected, ages.served],
  );
}

test('the time of an edition begins when its publication was seen, and one that is not served is late in the end', async () => {
  expect(await countServed(pool)).toEqual([]);
  await edition(1, { seen: 31, detected: 25, served: 22 });
  await edition(2, { seen: 31, detected: 25, served: 20 });
  expect(await countServed(pool)).toEqual([{ register: 'sancionados', inTime: 1, late: 1 }]);
  await edition(3, { seen: 9, detected: 5, served: null });
  await edition(4, { seen: 11, detected: 5, served: null });
  expect(await countServed(pool)).toEqual([{ register: 'sancionados', inTime: 1, late: 2 }]);
  const monthAgo = 31 * 24 * 60;
  await edition(5, { seen: monthAgo, detected: monthAgo, served: monthAgo - 60 });
  expect(await countServed(pool)).toEqual([{ register: 'sancionados', inTime: 1, late: 2 }]);
});
