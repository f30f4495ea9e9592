import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { ArchiveError } from '../../../../pipelines/archive/archive.ts';
import { ensureHead } from '../../../../pipelines/editions/heads.ts';
import { migratePostgres } from '../../../../pipelines/runtime/migrate.ts';
import { makePool, type Pool } from '../../../../pipelines/runtime/postgres.ts';
import { makeTemporal } from '../../../../pipelines/runtime/temporal.ts';
import { registerNames } from '../../../../schemas/registers.ts';
import { publishWorkflowId } from '../../../../workflows/publication/messages.ts';
import { startSweeper } from '../../../../workflows/publication/sweeper.ts';
import { freshDatabase, freshNamespace } from '../../../support/engines/isolation.ts';
import { keepLines } from '../../../support/process/log-lines.ts';

const { DATABASE_URL: databaseUrl, drop } = await freshDatabase(inject('endpoints'));
let pool: Pool;
let client: Awaited<ReturnType<typeof makeTemporal>>;
const { log, lines } = keepLines();

beforeAll(async () => {
  await migratePostgres(databaseUrl);
  pool = makePool(databaseUrl, 'test', 2);
  for (const register of registerNames) await ensureHead(pool, register);
  const { TEMPORAL_ADDRESS } = inject('endpoints');
  client = await makeTemporal(TEMPORAL_ADDRESS, await freshNamespace(inject('endpoints')));
});
afterAll(async () => {
  await client?.connection.close();
  await pool?.end();
  await drop();
});

async function publication(register: string, state: string, days: number): Promise<void> {
  await pool.query(
    `INSERT INTO publication (register, sha256, published_at, downloaded_at, state)
     VALUES ($1, repeat('a', 64), now(), now() - make_interval(days => $3), $2)`,
    [register, state, days],
  );
}

test('a register that cannot be swept keeps no other from its workflow, and what is late is said first', async () => {
  const [first, , , another] = registerNames;
  await publication(first!, 'rechazada', 10);
  await publication(another!, 'descargada', 0);
  const guard = { problemOf: async () => null, freeze: () => Promise.reject(new Error('a sweep freezes nothing')) };
  const stop = startSweeper(
    {
      ...{ pool, client, log, publicationDays: 1, editionsToRepublish: async () => [], guard },
      schedule: { cron: '0 0 1 1 *', reconcileCron: '0 0 1 1 *' },
      // The bucket's key is not allowed to delete.
      archive: { remove: () => Promise.reject(new ArchiveError('refused', 'the archive refuses to delete')) },
    },
    3_600_000,
  );
  await stop();
  expect(lines.filter(({ level }) => level === 50)).toEqual([
    expect.objectContaining({ register: first, msg: 'sweep of a register failed; the next one tries again' }),
  ]);
  const late = lines.findIndex(({ msg }) => msg === 'the register is late');
  expect(late).toBeGreaterThanOrEqual(0);
  expect(late).toBeLessThan(lines.findIndex(({ level }) => level === 50));
  const handle = client.workflow.getHandle(publishWorkflowId(another!));
  expect((await handle.describe()).status.name).toBe('RUNNING');
  await handle.terminate();
});
