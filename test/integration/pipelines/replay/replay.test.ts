import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { servingTables } from '../../../../pipelines/consumers/materialize.ts';
import { header } from '../../../../pipelines/registers/padron-reducido.ts';
import { replayIntoKafka } from '../../../../pipelines/replay/export.ts';
import { planVerification, selectEditions } from '../../../../pipelines/replay/plan.ts';
import { rebuild } from '../../../../pipelines/replay/rebuild.ts';
import { Shadow, shadowTables } from '../../../../pipelines/replay/shadow.ts';
import type { VerifyReport } from '../../../../pipelines/replay/types.ts';
import { verify, verifyRegister } from '../../../../pipelines/replay/verify.ts';
import { checkMaterialised } from '../../../../pipelines/stream/progress.ts';
import { materializeGroup, watchGroup } from '../../../../pipelines/stream/topics.ts';
import { changesTopic, type RegisterName } from '../../../../schemas/registers.ts';
import { inventedRuc } from '../../../support/engines/stream.ts';
import { writeLines } from '../../../support/registers/lines.ts';
import { ReplayHarness, watchCompanies, writeBars } from '../../../support/registers/replay-harness.ts';

// One history of two registers: a first load, three days, a bad line whose row is kept, and a revert. The tests build
// on each other and run in this order.
const used = ['padron_reducido', 'sancionados'] as const;
const companies = 2_000;
const signal = new AbortController().signal;
let harness: ReplayHarness;

beforeAll(async () => {
  harness = await ReplayHarness.start(inject('endpoints'), used);
  const watched = [102, 153, 204].map(inventedRuc);
  await watchCompanies(harness.stream.pool, watched);
});
afterAll(() => harness?.close());

/** Day 1 has every company. Each later day changes one company in fifty and removes one in four hundred. */
function linesOn(day: number): string[] {
  const lines: string[] = [];
  for (let number = 0; number < companies + 10 * day; number += 1) {
    const changedOn = number % 50;
    if (number % 400 === 399 && day > (number / 400) % 4) continue;
    const estado = changedOn >= 2 && changedOn <= day ? 'BAJA DE OFICIO' : 'ACTIVO';
    // Day 4 has one bad line, whose company keeps its row of day 3.
    const isBad = day === 4 && number === 77;
    const cells = isBad
      ? 'UNA LÍNEA CORTADA'
      : `EMPRESA ${number} "Ñ" S.A.C.|${estado}|HABIDO|150101|-|-|-|-|-|-|-|-|-|-|`;
    lines.push(`${inventedRuc(number)}|${cells}`);
  }
  return lines;
}

async function publishDay(day: number) {
  const path = join(harness.stream.folder, `day-${day}.zip`);
  await writeLines(path, [header, ...linesOn(day)], '\n');
  return await harness.publish('padron_reducido', path, `2026-11-2${day}`);
}

function publishBars(edition: number) {
  const ids = ['20500000013', '10440000014', '00000012', '88000000019'].slice(edition > 1 ? 1 : 0);
  const bars = ids.map((id, index) => [id, `${edition > 1 && index === 0 ? 'otra' : index}`] as const);
  const path = join(harness.stream.folder, `bars-${edition}.csv`);
  return harness.publish('sancionados', writeBars(path, bars), `2026-11-2${edition}`);
}

/** Verifies in this process, since a child costs a second, and without the publication if a test has not touched it. */
async function verified(register: RegisterName, withPublication = false): Promise<VerifyReport> {
  const plan = await planVerification(harness.planDependencies(), register);
  if (plan.kind !== 'ready') throw new Error(`not verified: ${plan.kind}`);
  const input = withPublication ? plan.input : { ...plan.input, publication: null };
  return await verify(input, () => {}, signal);
}

async function expectEqual(withPublication = false): Promise<void> {
  for (const register of used) {
    const report = await verified(register, withPublication);
    expect(report).toMatchObject({ equal: true, differences: 0, laterRows: 0, listed: [] });
    if (withPublication) expect(report.publication).toMatchObject({ missing: 0, extra: 0, differs: 0 });
  }
}

async function notifications(): Promise<{ events: number; deliveries: number }> {
  const { rows } = await harness.stream.pool.query<{ events: number; deliveries: number }>(
    'SELECT (SELECT count(*) FROM event) AS events, (SELECT count(*) FROM delivery) AS deliveries',
  );
  return rows[0]!;
}

const run = (query: string) =>
  harness.stream.clickhouse.command({ query, clickhouse_settings: { mutations_sync: '2', async_insert: 0 } });

interface Ended {
  code: number;
  stdout: string;
  stderr: string;
}

/** Runs the operators' command on the harness's addresses. */
async function padron(...args: string[]): Promise<Pick<Ended, 'code' | 'stdout'>> {
  const { code, stdout } = await runProgram(process.execPath, ['deploy/cli/padron.js', ...args]);
  return { code, stdout };
}

/** Does the same in a shell that has set limits. `$0` is Node.js. */
const runShell = (script: string) => runProgram('sh', ['-c', script, process.execPath]);

function runProgram(program: string, args: readonly string[]): Promise<Ended> {
  const { environment } = harness.stream;
  const env = { PATH: process.env.PATH, ...environment, WORK_DIR: harness.workDir };
  return new Promise((resolve) => {
    execFile(program, args, { env }, (error, stdout, stderr) =>
      resolve({ code: typeof error?.code === 'number' ? error.code : 0, stdout, stderr }),
    );
  });
}

/** The newest live row of each name. */
async function currentNames(): Promise<unknown[]> {
  const result = await harness.stream.clickhouse.query({
    query: 'SELECT * FROM ranked_name ORDER BY name, ruc, version DESC, is_deleted LIMIT 1 BY name, ruc',
    format: 'JSONEachRow',
  });
  return (await result.json<{ is_deleted: number }>()).filter((row) => row.is_deleted === 0);
}

const rebuildParts = () => ({ ...harness.planDependencies(), clickhouse: harness.stream.clickhouse });
let notified: { events: number; deliveries: number };

describe('verify', () => {
  test('is equal after a first load', async () => {
    await publishDay(1);
    await publishBars(1);
    const outcome = await verifyRegister(harness.planDependencies(), 'padron_reducido', () => {}, signal);
    expect(outcome).toMatchObject({ kind: 'verified', report: { equal: true, rows: linesOn(1).length } });
    await expectEqual();
  });

  test('is equal after three days and a bad line that was kept', async () => {
    await publishDay(2);
    await publishBars(2);
    await publishDay(3);
    expect(await publishDay(4)).toMatchObject({ kept: 1, rejected: 1 });
    await expectEqual(true);
  });

  test('is equal after a revert of the last day', async () => {
    expect((await harness.revert('padron_reducido', 4)).updated).toBeGreaterThan(0);
    await expectEqual(true);
    notified = await notifications();
    // 102 on day 2, 153 on day 3, 204 on day 4; the correction of day 4 cancels a delivery that was never sent.
    expect(notified.events).toBe(4);
  });

  test('finds one altered, one missing and one extra row in state and history, and a rebuild repairs them', async () => {
    const [altered, added, missing] = [inventedRuc(500), inventedRuc(900_000), inventedRuc(152)];
    await run(`ALTER TABLE taxpayer UPDATE row = replaceOne(row, 'EMPRESA', 'EMPRESO') WHERE ruc = ${altered}`);
    await run(`INSERT INTO taxpayer VALUES (${added}, 1, 5, 0, '[]'), (10440000014, 1, 5, 0, '[]')`);
    await run(`ALTER TABLE register_change DELETE WHERE ruc = ${missing} AND edition = 2`);
    const report = await verified('padron_reducido');
    expect(report).toMatchObject({ equal: false, differences: 4, state: { differs: 1, extra: 2, missing: 0 } });
    expect(report.history).toMatchObject({ missing: 1, extra: 0, differs: 0 });
    expect(report.listed).toEqual([
      { where: 'state', kind: 'extra', id: '10*******14', edition: null },
      { where: 'state', kind: 'differs', id: altered, edition: null },
      { where: 'state', kind: 'extra', id: added, edition: null },
      { where: 'history', kind: 'missing', id: missing, edition: 2 },
    ]);
    const command = await padron('verify', '--register', 'padron_reducido', '--json');
    expect(command.code).toBe(1);
    expect(JSON.parse(command.stdout)).toMatchObject([{ equal: false, differences: 4, listed: report.listed }]);
    expect(await verified('sancionados')).toMatchObject({ equal: true });
    // Consumers have just written this row of the next edition, and it must survive the rebuild.
    await run(`INSERT INTO taxpayer VALUES (${added}, 5, 9, 0, '["ruc","[]"]')`);
    const rebuilt = await rebuild(rebuildParts(), ['padron_reducido'], () => {}, signal);
    expect(rebuilt).toMatchObject([{ register: 'padron_reducido', edition: 5 }]);
    expect(await verified('sancionados')).toMatchObject({ equal: false, laterRows: 1, state: { extra: 1 } });
    await run(`ALTER TABLE taxpayer DELETE WHERE ruc = ${added} AND register = 5`);
    await expectEqual();
  });
});

describe('rebuild', () => {
  test('from nothing gives the same state, history and names', async () => {
    const names = await currentNames();
    expect(names).not.toEqual([]);
    for (const table of Object.values(servingTables)) await run(`TRUNCATE TABLE ${table}`);
    expect(await verified('sancionados')).toMatchObject({ equal: false, state: { rows: 3, missing: 3 }, names: null });
    const rebuilt = await rebuild(rebuildParts(), used, () => {}, signal);
    expect(rebuilt.map(({ register, edition }) => [register, edition])).toEqual([
      ['padron_reducido', 5],
      ['sancionados', 2],
    ]);
    await expectEqual();
    expect(await currentNames()).toEqual(names);
  });

  test('that died after the exchange loses no row, because the next run copies it', async () => {
    const shadow = new Shadow(harness.stream.clickhouse);
    await shadow.create(
      new Map([
        [1, 5],
        [5, 2],
      ]),
    );
    await shadow.copyOthers([]);
    await shadow.exchange();
    const late = inventedRuc(900_000);
    await run(`INSERT INTO ${shadowTables.state} VALUES (${late}, 5, 3, 0, '["ruc","[]"]')`);
    // The process died here.
    expect(await new Shadow(harness.stream.clickhouse).recover()).toBe(true);
    const left = await harness.stream.clickhouse.query({
      query: `SELECT count() AS rows FROM ${servingTables.state} WHERE ruc = ${late}`,
      format: 'JSONEachRow',
    });
    expect(await left.json()).toEqual([{ rows: expect.toBeOneOf([1, '1']) }]);
    expect(await new Shadow(harness.stream.clickhouse).recover()).toBe(false);
    await run(`ALTER TABLE taxpayer DELETE WHERE ruc = ${late}`);
  });

  test('repairs an edition that would never be materialised, and is refused before that edition is published', async () => {
    const { pool, clickhouse } = harness.stream;
    const set = (column: string, time: string) =>
      pool.query(`UPDATE edition SET ${column} = ${time} WHERE register = 'sancionados' AND number = 2`);
    const isMaterialised = () => checkMaterialised({ ...harness.stream, clickhouse }, 'sancionados', 2);
    await set('materializada_at', 'NULL');
    const command = await padron('verify', '--register', 'sancionados');
    expect(command).toEqual({ code: 3, stdout: 'sancionados: edition 2 is on its way, try again\n' });
    // An edition of the same number left this row, and the catalogue no longer knows that edition.
    await run(`INSERT INTO taxpayer VALUES (${inventedRuc(900_001)}, 5, 2, 0, '["ruc","[]"]')`);
    await expect(isMaterialised()).rejects.toThrow('`padron rebuild --register sancionados` makes all of them again');
    await set('publicada_at', 'NULL');
    const refused = rebuild(rebuildParts(), used, () => {}, signal);
    await expect(refused).rejects.toMatchObject({ code: 'edition_on_its_way' });
    await set('publicada_at', 'now()');
    await rebuild(rebuildParts(), ['sancionados'], () => {}, signal);
    expect(await isMaterialised()).toBe('materialised');
    await set('materializada_at', 'now()');
    await expectEqual();
  });
});

describe('a replay', () => {
  test('as lines gives the changes of a range and nothing else on standard output', async () => {
    const { code, stdout } = await padron(
      ...['replay', '--register', 'sancionados', '--from', '2026-11-22', '--to', '2', '--into', 'ndjson'],
    );
    expect(code).toBe(0);
    const changes = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(changes.map(({ op, ruc, fecha_dato }) => [op, ruc, fecha_dato])).toEqual([
      ['u', '00000012', '2026-11-22'],
      ['u', '10440000014', '2026-11-22'],
      ['d', '20500000013', '2026-11-22'],
      ['u', '88000000019', '2026-11-22'],
    ]);
  });

  test('as a file gets its name when it is complete', async () => {
    const out = join(harness.stream.folder, 'changes.ndjson');
    const words = ['replay', '--register', 'sancionados', '--from', '1', '--to', '2', '--into', 'ndjson'];
    const full = await runShell(`ulimit -f 0; exec "$0" deploy/cli/padron.js ${words.join(' ')} --out ${out}`);
    expect(full).toMatchObject({ code: 1, stderr: expect.stringMatching(/^error: EFBIG[^\n]*\n$/m) });
    expect(readdirSync(harness.stream.folder).filter((name) => name.startsWith('changes'))).toEqual([]);
    expect((await padron(...words, '--out', out)).code).toBe(0);
    expect(readFileSync(out, 'utf8')).toBe((await padron(...words)).stdout);
  });
});

describe('a replay into Kafka', () => {
  test('leaves state and history as they are and notifies nobody again', async () => {
    const { pool, offsets, prefix } = harness.stream;
    const topic = changesTopic(prefix, 'padron_reducido');
    const before = await offsets.ends(topic);
    const editions = await selectEditions(
      { pool, archive: harness.archive },
      'padron_reducido',
      { date: '2026-11-22' },
      { edition: 5 },
    );
    expect(editions.map(({ edition }) => edition)).toEqual([2, 3, 4, 5]);
    const rows = await replayIntoKafka(harness.stream, editions, () => {}, signal);
    const ends = await offsets.ends(topic);
    expect(ends.reduce((sum, end, at) => sum + end - before[at]!, 0)).toBe(rows);
    for (const group of [materializeGroup(prefix), watchGroup(prefix)]) {
      await harness.until(async () =>
        (await offsets.committed(group, topic)).every((offset, at) => offset >= ends[at]!),
      );
    }
    await expectEqual();
    expect(await notifications()).toEqual(notified);
  });

  test('is refused for an edition whose events are not all written', async () => {
    const { pool } = harness.stream;
    const bounds = [{ edition: 1 }, { edition: 2 }] as const;
    const set = (time: string) =>
      pool.query(`UPDATE edition SET avisada_at = ${time} WHERE register = 'sancionados' AND number = 2`);
    await set('NULL');
    const editions = await selectEditions({ pool, archive: harness.archive }, 'sancionados', ...bounds);
    await expect(replayIntoKafka(harness.stream, editions, () => {}, signal)).rejects.toMatchObject({
      code: 'edition_not_notified',
    });
    await set('now()');
  });
});
