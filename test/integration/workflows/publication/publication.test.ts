import { mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { followCorrection } from '../../../../deploy/cli/publications/follow.ts';
import { writePublication } from '../../../../deploy/local/demo/register/publication.ts';
import { requestCorrection } from '../../../../pipelines/editions/corrections.ts';
import { listEditions } from '../../../../pipelines/editions/editions.ts';
import { readHead } from '../../../../pipelines/editions/heads.ts';
import { listPublications } from '../../../../pipelines/editions/publications.ts';
import { inTransaction } from '../../../../pipelines/runtime/postgres.ts';
import {
  publicationQueue,
  type ReconcileInput,
  type ReconcileResult,
} from '../../../../workflows/publication/messages.ts';
import { wakePublish } from '../../../../workflows/publication/schedule.ts';
import { PublicationHarness, register } from '../../../support/publication/harness.ts';
import { readPublication, readState } from '../../../support/registers/state.ts';

const rows = 3_000;
const changes = { inserted: 12, deleted: 7, updated: 40 };
let harness: PublicationHarness;
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'padron-publication-'));
  harness = await PublicationHarness.start(inject('endpoints'));
});
afterAll(async () => {
  await harness?.close();
  await rm(folder, { recursive: true, force: true });
});

/** Writes day `day` and puts it on the site at its time of publication (02:38 in Lima). */
async function putDay(day: number): Promise<{ path: string; published: Date }> {
  const path = join(folder, `day-${day}.zip`);
  await writePublication({ path, rows, seed: 5, day, changes });
  const published = new Date(Date.UTC(2026, 9, day, 7, 38, 0));
  harness.site.publish(await readFile(path), published);
  return { path, published };
}

async function expectState(path: string): Promise<void> {
  const state = await readState(harness.stream.environment.CLICKHOUSE_URL!);
  expect(state).toEqual(await readPublication(path));
}

/** Waits until the condition holds, and fails after a time that only a fault explains. */
async function until(holds: () => Promise<boolean>): Promise<void> {
  await expect.poll(holds, { timeout: 60_000, interval: 20 }).toBe(true);
}

const editions = () => listEditions(harness.stream.pool, { register, maxRows: 100 });

describe('a register from its site to ClickHouse', () => {
  it('takes the first publication as edition 1', async () => {
    const { path, published } = await putDay(1);
    const { publication } = await harness.run();
    expect(publication).toMatchObject({
      state: 'publicada',
      edition: 1,
      rows,
      rejected: 0,
      duplicates: 0,
      fecha_dato: '2026-10-01',
      published_at: published,
    });
    expect(publication!.avisada_at).not.toBeNull();
    await expectState(path);
  });

  it('finds nothing new while the site keeps its file', async () => {
    const before = harness.site.requests.length;
    expect((await harness.run()).outcome).toBe('nothing_new');
    expect(harness.site.requests.slice(before).map((request) => request.method)).toEqual(['HEAD']);
    expect(await editions()).toHaveLength(1);
  });

  it('takes the next one as the difference, with its gates and counts', async () => {
    const { path } = await putDay(2);
    const { publication } = await harness.run();
    expect(publication).toMatchObject({ state: 'publicada', edition: 2, fecha_dato: '2026-10-02' });
    expect(publication!.gates.every((gate) => gate.passed)).toBe(true);
    expect(publication!.gates.map((gate) => gate.gate)).toContain('changed.company');
    const [second] = await editions();
    expect(second).toMatchObject({
      number: 2,
      changes: changes.inserted + changes.deleted + changes.updated,
      counts: { inserted: changes.inserted, deleted: changes.deleted, updated: changes.updated },
    });
    await expectState(path);
  });

  it('moves only the date when the same bytes are published again', async () => {
    const later = new Date(Date.UTC(2026, 9, 3, 7, 38, 0));
    harness.site.publish(harness.site.file!.bytes, later);
    const { publication } = await harness.run();
    expect(publication).toMatchObject({
      state: 'repetida',
      edition: null,
      state_reason: 'the same bytes as edition 2',
    });
    expect(await readHead(harness.stream.pool, register)).toMatchObject({
      edition: 2,
      fecha_dato: '2026-10-03',
      published_at: later,
    });
  });

  it('quarantines an older file that the site went back to', async () => {
    await putDay(1);
    harness.site.publish(Buffer.concat([await readFile(join(folder, 'day-1.zip'))]), new Date(Date.UTC(2026, 8, 30)));
    const { publication } = await harness.run();
    expect(publication).toMatchObject({ state: 'en_cuarentena' });
    expect(publication!.state_reason).toMatch(/^date: the site went back to an older file/);
    expect(await editions()).toHaveLength(2);
  });

  it('recognises a version that it had before, without taking it again', async () => {
    await putDay(2);
    const before = harness.site.requests.filter((request) => request.method === 'GET').length;
    expect((await harness.run()).outcome).toBe('nothing_new');
    expect(harness.site.requests.filter((request) => request.method === 'GET')).toHaveLength(before);
  });

  it('rebuilds the index when WORK_DIR was lost', async () => {
    await rm(harness.workDir, { recursive: true });
    const { path } = await putDay(4);
    const { publication } = await harness.run();
    expect(publication).toMatchObject({ state: 'publicada', edition: 3 });
    await expectState(path);
  });

  it('goes on after the worker stopped at any step, and downloads nothing twice', async () => {
    const { path } = await putDay(5);
    harness.site.misbehave({ mode: 'stall', afterBytes: 20_000 });
    const running = harness.run();
    running.catch(() => {});
    const gets = () => harness.site.requests.filter((request) => request.method === 'GET');
    const before = gets().length;
    // Stop the worker during the download, then right after its next start, whatever it is doing.
    const part = async () => {
      const [newest] = await listPublications(harness.stream.pool, { register, state: null, maxRows: 1 });
      const path = await harness.archive.incomingFile(`${register}-${newest!.id}.part`);
      return (await stat(path).catch(() => null))?.size ?? 0;
    };
    await until(async () => gets().length > before && (await part()) >= 20_000);
    await harness.stopWorker();
    harness.site.misbehave({ mode: 'ok' });
    await harness.startWorker();
    await harness.stopWorker();
    await harness.startWorker();
    const { publication } = await running;
    expect(publication).toMatchObject({ state: 'publicada', edition: 4 });
    const ranges = gets()
      .slice(before)
      .map((request) => request.range);
    expect(ranges[0]).toBeNull();
    expect(ranges.slice(1).every((range) => range !== null)).toBe(true);
    await expectState(path);
  });

  it('waits for consumers that are away, and takes two publications in order after that', async () => {
    await harness.stopConsumers('SIGKILL');
    await putDay(6);
    const first = harness.run();
    await until(async () => (await editions())[0]!.number === 5);
    const { path } = await putDay(7);
    const second = harness.run();
    const waiting = () => listPublications(harness.stream.pool, { register, state: 'descargada', maxRows: 9 });
    await until(async () => (await waiting()).length === 1);
    // The next edition must wait until this one is materialised.
    expect((await editions()).map((edition) => edition.number)).toEqual([5, 4, 3, 2, 1]);
    await harness.startConsumers();
    expect((await first).publication).toMatchObject({ state: 'publicada', edition: 5 });
    expect((await second).publication).toMatchObject({ state: 'publicada', edition: 6 });
    await expectState(path);
  });

  it('goes on after Temporal lost its data in the middle of an edition', async () => {
    await harness.stopConsumers('SIGKILL');
    const { path } = await putDay(8);
    const before = (await editions())[0]!.number;
    harness.run().catch(() => {});
    await until(async () => (await editions())[0]!.number > before);
    await harness.loseTemporal(inject('endpoints'));
    await harness.startConsumers();
    const publication = await harness.settled((await editions())[0]!.publication_id!);
    expect(publication).toMatchObject({ state: 'publicada', edition: before + 1 });
    await expectState(path);
  });

  it('undoes an edition on order, all the way; the daily check finds the state equal, and a damaged row', async () => {
    const { pool, clickhouse } = harness.stream;
    const { edition } = await readHead(pool, register);
    const order = { by: 'Ana Ruiz', reason: 'another file' };
    const { id } = await inTransaction(pool, (client) => requestCorrection(client, register, edition, order));
    await wakePublish(harness.client, register);
    const correction = await followCorrection(harness.follow(), id);
    expect(correction).toMatchObject({ state: 'publicada', edition: edition + 1 });
    const [newest] = await editions();
    expect(newest).toMatchObject({ number: edition + 1, corrects: edition, counts: { conflicts: 0 } });
    // Undoing day 8 gives day 7, because nothing was published between them.
    await expectState(join(folder, 'day-7.zip'));

    expect(await reconcile()).toMatchObject({ equal: 1, failed: 0 });
    await clickhouse.command({
      query: `INSERT INTO taxpayer SELECT ruc, register, version, is_deleted, replaceOne(row, 'ACTIVO', 'SUSPENSION TEMPORAL')
        FROM taxpayer WHERE register = 1 AND row LIKE '%ACTIVO%' AND is_deleted = 0
        ORDER BY ruc, version DESC LIMIT 1 BY ruc LIMIT 1`,
    });
    expect(await reconcile()).toMatchObject({ different: 1, failed: 0 });
    const { rows: kept } = await pool.query('SELECT equal, differences FROM reconciliation ORDER BY id');
    expect(kept).toEqual([
      { equal: true, differences: 0 },
      { equal: false, differences: expect.any(Number) },
    ]);
  });
});

/** Runs the register's daily check by hand. */
async function reconcile(): Promise<ReconcileResult> {
  const input: ReconcileInput = { registers: [register] };
  const workflowId = `reconcile-${Date.now()}`;
  return await harness.client.workflow.execute('reconcile', { taskQueue: publicationQueue, workflowId, args: [input] });
}
