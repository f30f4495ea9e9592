import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { requestCorrection } from '../../../../pipelines/editions/corrections.ts';
import { listEditions } from '../../../../pipelines/editions/editions.ts';
import { readHead } from '../../../../pipelines/editions/heads.ts';
import { findPublication, listPublications } from '../../../../pipelines/editions/publications.ts';
import { inTransaction } from '../../../../pipelines/runtime/postgres.ts';
import { adoptEditions, findLostEditions } from '../../../../pipelines/stream/adoption.ts';
import { editionRecords } from '../../../../pipelines/stream/tail.ts';
import { runCommand } from '../../../support/process/command.ts';
import { copyClickhouse, copyKafka, copyPostgres, foldTopic } from '../../../support/publication/backups.ts';
import { Fuse } from '../../../support/publication/fuse.ts';
import { PublicationHarness, testSettings } from '../../../support/publication/harness.ts';
import { makeWatchRows } from '../../../support/watch/harness.ts';
import { type ListRows, listRegister, listRows, listRuc, listZip, showList } from '../../../support/watch/list-days.ts';

// One engine is restored from an older backup, and the others live on. Each story ends with equal stores, one content
// for each number, and no event made twice. They change one installation, so they run in their order.
const register = listRegister;
let harness: PublicationHarness;
let rows: ListRows = listRows(300);
let day = 0;

beforeAll(async () => {
  // A wait for an edition that the restored catalogue lacks ends soon.
  const waits = { pollEveryMs: 100, waitAtMostMs: 3_000 };
  harness = await PublicationHarness.start(inject('endpoints'), { ...testSettings, waits });
  const watch = makeWatchRows(harness.stream.pool);
  const account = await watch.account();
  await watch.list(account, 'clientes', [...Array(300).keys()].map(listRuc));
  await watch.webhook(account, 'https://receiver.invalid/');
  for (let first = 1; first <= 3; first += 1) await publish((list) => list.delete(first));
});
afterAll(() => harness?.close());

const pool = () => harness.stream.pool;
const editions = async () => (await listEditions(pool(), { register, maxRows: 100 })).reverse();
const head = async () => (await readHead(pool(), register)).edition;
const padron = (...words: string[]) =>
  runCommand(words, {
    ...harness.stream.environment,
    WORK_DIR: harness.workDir,
    PADRON_LOCAL_DIR: harness.stream.folder,
  });

async function show(change: (list: ListRows) => void): Promise<void> {
  day += 1;
  rows = new Map(rows);
  change(rows);
  showList(harness.site, await listZip(rows), new Date(Date.UTC(2026, 9, day, 12)));
}

async function publish(change: (list: ListRows) => void) {
  await show(change);
  return (await harness.run(register)).publication!;
}

async function stop(): Promise<void> {
  await Promise.all([harness.stopConsumers(), harness.stopWorker()]);
}

async function start(): Promise<void> {
  await Promise.all([harness.startConsumers(), harness.startWorker()]);
}

/** Waits until every edition up to `number` is finished. */
async function untilFinished(number: number): Promise<void> {
  const unfinished = async () => (await editions()).filter(({ avisada_at }) => avisada_at === null).length;
  await expect
    .poll(async () => [await head(), await unfinished()], { timeout: 150_000, interval: 200 })
    .toEqual([number, 0]);
}

/** Positions of an edition's events. Customers keep them as cursors. */
async function positions(edition: number): Promise<number[]> {
  const { rows } = await pool().query<{ position: number }>(
    'SELECT position FROM event WHERE register = $1 AND edition = $2 ORDER BY position',
    [register, edition],
  );
  return rows.map(({ position }) => position);
}

/** Number of events of each edition. */
async function events(): Promise<Record<number, number>> {
  const { rows } = await pool().query<{ edition: number; found: number }>(
    'SELECT edition, count(*)::int AS found FROM event WHERE register = $1 GROUP BY edition ORDER BY edition',
    [register],
  );
  return Object.fromEntries(rows.map(({ edition, found }) => [edition, found]));
}

/** State, history, publication and topic all say what the site's last file says, and each number is one content. */
async function expectWhole(): Promise<void> {
  const verified = await padron('verify', '--register', register);
  expect([verified.code, verified.stdout]).toEqual([0, expect.stringContaining(': equal')]);
  const folded = await foldTopic(harness.stream, register);
  const named = new Map([...folded].map(([ruc, { after }]) => [ruc, after!.nombre]));
  expect(named).toEqual(new Map([...rows].map(([number, name]) => [listRuc(number), name])));
  const contents = new Map<number, Set<string>>();
  for (const { edition, change_file_sha256 } of await editionRecords(harness.stream, register, 0)) {
    contents.set(edition, (contents.get(edition) ?? new Set()).add(change_file_sha256));
  }
  const known = await editions();
  expect(contents).toEqual(new Map(known.map((one) => [one.number, new Set([one.change_file_sha256])])));
}

it('PostgreSQL restored by one edition: nothing is published and all say why, until the edition is adopted', async () => {
  await stop();
  const backup = await copyPostgres(inject('endpoints'), harness.stream);
  await start();
  const lost = await publish((list) => list.delete(4));
  const [before] = (await editions()).slice(-1);
  expect([lost.edition, (await events())[4]]).toEqual([4, 1]);
  const [cursor] = await positions(4);
  await stop();
  await backup.putBack();
  await start();
  expect([await head(), (await events())[4]]).toEqual([3, undefined]);

  const held = await publish((list) => list.delete(5));
  expect(held).toMatchObject({ edition: null, state_reason: expect.stringMatching(/^stream_ahead: .*edition 4 of /) });
  expect(held.state_reason).toContain('npx padron editions adopt');
  expect(harness.workerProblem()).toBe(held.state_reason);
  expect(await harness.metric('padron_register_lost_editions', { register })).toBe(1);
  const dry = await padron('editions', 'adopt', '--dry-run', '--json');
  expect([dry.code, JSON.parse(dry.stdout)]).toEqual([
    0,
    [
      expect.objectContaining({
        register,
        number: 4,
        change_file_sha256: before!.change_file_sha256,
        in_kafka: true,
        adopted: false,
      }),
    ],
  ]);
  expect(await head()).toBe(3);

  const adopted = await padron('editions', 'adopt');
  expect([adopted.code, adopted.stdout]).toEqual([
    0,
    expect.stringMatching(/^agentes_retencion 4 .* whole in Kafka {2}brought back\n$/),
  ]);
  await untilFinished(5);
  const { publicada_at, materializada_at, avisada_at, publication_id, ...facts } = before!;
  expect((await editions())[3]).toMatchObject(facts);
  expect(await events()).toMatchObject({ 5: 1 });
  expect((await events())[4]).toBeUndefined();
  // A customer who had read the lost event misses none of the later ones.
  expect((await positions(5))[0]).toBeGreaterThan(cursor!);
  expect(harness.workerProblem()).toBeNull();
  expect((await padron('editions', 'adopt')).stdout).toContain('has every edition');
  await expectWhole();
});

it('PostgreSQL restored by three editions, an undone one and an unread one among them: watch waits and goes on', async () => {
  await stop();
  const backup = await copyPostgres(inject('endpoints'), harness.stream);
  await start();
  await publish((list) => list.delete(6));
  await inTransaction(pool(), (client) => requestCorrection(client, register, 6, { by: 'Ana Ruiz', reason: 'wrong' }));
  await untilFinished(7);
  rows.set(6, 'EMPRESA DE PRUEBA 6');
  await harness.stopConsumers();
  publish((list) => list.delete(7)).catch(() => {});
  await expect.poll(async () => (await editions())[7]?.publicada_at ?? null, { timeout: 60_000 }).not.toBeNull();
  await harness.stopWorker();
  await backup.putBack();
  // The next comparison has no working files either.
  await rm(harness.workDir, { recursive: true });
  await start();

  await expect.poll(() => harness.workerProblem(), { timeout: 60_000 }).toMatch(/has edition 8 .* ends at 5/);
  await expect
    .poll(() => harness.consumersProblem(), { timeout: 60_000 })
    .toMatch(/EditionUnknown.*npx padron editions adopt/);
  // The site still has the file of edition 8, and the restored catalogue takes it for a new one.
  const again = (await harness.run(register)).publication!;
  expect(again).toMatchObject({ edition: null, state_reason: expect.stringMatching(/^stream_ahead: /) });
  const adopted = await padron('editions', 'adopt', '--json');
  expect(JSON.parse(adopted.stdout)).toMatchObject([{ number: 6 }, { number: 7, corrects: 6 }, { number: 8 }]);
  await untilFinished(8);
  expect(await findPublication(pool(), again.id)).toMatchObject({ state: 'publicada', edition: 8, state_reason: null });
  await expect.poll(events, { timeout: 60_000 }).toMatchObject({ 8: 1 });
  // What watch had read before makes no events again.
  expect(await events()).not.toHaveProperty('6');
  expect(await events()).not.toHaveProperty('7');
  await publish((list) => list.delete(8));
  await untilFinished(9);
  const undone = (await editions()).flatMap(({ number, corrects }) => (corrects === null ? [] : [[number, corrects]]));
  expect(undone).toEqual([[7, 6]]);
  await expectWhole();
});

it('Kafka restored behind PostgreSQL: what it lost is produced again, and no event is made twice', async () => {
  await stop();
  const backup = await copyKafka(harness.stream, register);
  await start();
  await publish((list) => list.delete(9));
  await publish((list) => list.delete(10));
  const before = await events();
  await stop();
  await backup.putBack();
  await start();
  await publish((list) => list.delete(11));
  await untilFinished(12);
  expect(await events()).toEqual({ ...before, 12: 1 });
  await expectWhole();
});

it('ClickHouse restored behind both: nothing is published before the rebuild that the reason names', async () => {
  await stop();
  const backup = await copyClickhouse(harness.stream);
  await start();
  await publish((list) => list.delete(12));
  await stop();
  await backup.putBack();
  await start();
  await show((list) => list.delete(13));
  void harness.run(register).catch(() => {});
  const reason = async () => (await listPublications(pool(), { register, state: null, maxRows: 1 }))[0]!.state_reason;
  await expect.poll(reason, { timeout: 60_000 }).toMatch(/^clickhouse_behind: .* ends at edition 12 .* serves 13/);
  expect(await head()).toBe(13);
  expect(harness.workerProblem()).toContain(`npx padron rebuild --register ${register}`);
  expect((await padron('rebuild', '--register', register)).code).toBe(0);
  await untilFinished(14);
  await expectWhole();
});

it('PostgreSQL and ClickHouse restored behind Kafka: adopted, then rebuilt', async () => {
  await stop();
  const [postgres, clickhouse] = [
    await copyPostgres(inject('endpoints'), harness.stream),
    await copyClickhouse(harness.stream),
  ];
  await start();
  await publish((list) => list.delete(14));
  await publish((list) => list.delete(15));
  await stop();
  await postgres.putBack();
  await clickhouse.putBack();
  await start();
  expect((await padron('editions', 'adopt')).code).toBe(0);
  expect((await padron('rebuild', '--register', register)).code).toBe(0);
  await untilFinished(16);
  await expectWhole();
});

it('an adoption that dies after any one call leaves whole editions, and the next one goes on', async () => {
  await stop();
  const backup = await copyPostgres(inject('endpoints'), harness.stream);
  await start();
  await publish((list) => list.delete(16));
  await publish((list) => list.set(17, 'OTRO NOMBRE'));
  await stop();
  await backup.putBack();
  const dependencies = { ...harness.stream, servers: [harness.stream], archive: harness.archive };
  const lost = await findLostEditions(dependencies, register);
  expect(lost.map(({ number }) => number)).toEqual([17, 18]);
  let deaths = 0;
  for (let calls = 0; ; calls += 1) {
    const fuse = new Fuse(calls);
    await adoptEditions({ ...dependencies, pool: fuse.pool(pool()) }, lost).catch(() => {});
    const known = await editions();
    expect(await head(), `after ${calls} calls`).toBe(known.at(-1)!.number);
    expect(known.every(({ publication_id, corrects }) => (publication_id === null) === (corrects !== null))).toBe(true);
    if (!fuse.isBlown) break;
    deaths += 1;
  }
  expect(deaths).toBeGreaterThan(15);
  await start();
  await untilFinished(18);
  await expectWhole();
});

it('an archive that lacks the edition is named, and nothing is changed', async () => {
  await stop();
  const backup = await copyPostgres(inject('endpoints'), harness.stream);
  await start();
  await publish((list) => list.delete(18));
  await stop();
  const { change_file_sha256 } = (await editions()).at(-1)!;
  await backup.putBack();
  const archived = join(harness.stream.folder, 'archive', 'editions', register, `19.${change_file_sha256}.json`);
  await rm(archived);
  const refused = await padron('editions', 'adopt');
  expect([refused.code, refused.stdout]).toEqual([1, '']);
  expect(refused.stderr).toMatch(/edition 19 of agentes_retencion cannot be brought back.*\(edition_lost\)/);
  expect(await head()).toBe(18);
});
