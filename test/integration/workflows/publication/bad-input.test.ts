import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { populationOf, taxpayerOn } from '../../../../deploy/local/demo/register/population.ts';
import { approvePublication, rejectPublication } from '../../../../pipelines/editions/decisions.ts';
import { listEditions } from '../../../../pipelines/editions/editions.ts';
import { readHead } from '../../../../pipelines/editions/heads.ts';
import { findPublication } from '../../../../pipelines/editions/publications.ts';
import { inTransaction } from '../../../../pipelines/runtime/postgres.ts';
import { wakePublish } from '../../../../workflows/publication/schedule.ts';
import { type Fault, writeFault } from '../../../fixtures/padron-reducido/faults.ts';
import { PublicationHarness, register } from '../../../support/publication/harness.ts';
import { type Rows, readState } from '../../../support/registers/state.ts';

const count = 2_000;
const population = populationOf(count, 11);
const rows = Array.from({ length: count }, (_, index) => {
  const { ruc, cells } = taxpayerOn(population, index, 1);
  return `${ruc}|${cells.join('|')}|`;
});
let harness: PublicationHarness;
let folder: string;
let before: Rows;
let minutes = 0;

/** Each publication is dated a minute after the one before. */
function nextTime(): Date {
  minutes += 1;
  return new Date(Date.UTC(2026, 9, 20, 7, minutes));
}

async function put(fault: Fault): Promise<void> {
  const path = join(folder, `${fault}.zip`);
  await writeFault(fault, path, rows);
  harness.site.misbehave({ mode: 'ok' });
  harness.site.publish(await readFile(path), nextTime());
}

const state = () => readState(harness.stream.environment.CLICKHOUSE_URL!);
const editionCount = async () => (await listEditions(harness.stream.pool, { register, maxRows: 100 })).length;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'padron-bad-input-'));
  harness = await PublicationHarness.start(inject('endpoints'));
  // Edition 1 has the same rows, the first without a name, which is no reason to refuse a file.
  await put('empty_name');
  expect((await harness.run()).publication).toMatchObject({ state: 'publicada', edition: 1, rows: count });
  before = await state();
});
afterAll(async () => {
  await harness?.close();
  await rm(folder, { recursive: true, force: true });
});

describe('a publication that must not be taken on', () => {
  it.each<[Fault, RegExp]>([
    ['html', /^zip_invalid: .*web page \(HTML\)/],
    ['truncated', /^zip_invalid: .*cut off/],
    ['bad_crc', /^zip_crc: .*CRC/],
    ['damaged_data', /^zip_(crc|invalid): /],
    ['wrong_size', /^zip_size: /],
    ['no_txt', /^zip_entry: The zip has no entry named like/],
    ['two_txt', /^zip_entry: /],
    ['two_known', /^zip_entry: /],
    ['trailing_bytes', /^zip_invalid: .*whole zip with 15 bytes after its end/],
    ['folder_in_name', /^zip_(entry|invalid): /],
    ['empty_text', /^empty: /],
    ['header_changed', /^header_changed: .*UBIGEO/],
    ['column_added', /^header_changed: .*16 columns/],
    ['no_header', /^header_changed: .*first line is a row/],
    ['utf8', /^header_changed: .*UTF-8/],
    ['sixty_percent', /^gates: .*1200 rows where the previous edition has 2000 \(60 %, at least 98 %\)/],
    ['every_name_changed', /^gates: .*nombre changed in \d+ of \d+ companies/],
  ])('%s goes to quarantine with its reason, and the live data stays', async (fault, reason) => {
    await put(fault);
    const { publication } = await harness.run();
    expect(publication).toMatchObject({ state: 'en_cuarentena', edition: null });
    expect(publication!.state_reason).toMatch(reason);
    // A reason must never contain a person's row.
    expect(publication!.state_reason).not.toMatch(/\b1[057]\d{9}\b/);
    expect(await editionCount()).toBe(1);
    expect(await state()).toEqual(before);
    expect(await readHead(harness.stream.pool, register)).toMatchObject({ edition: 1 });
  });

  it('without any date goes to quarantine, and an operator can give it one', async () => {
    await put('duplicate');
    harness.site.page = '';
    harness.site.misbehave({ mode: 'no_dates' });
    const { publication } = await harness.run();
    expect(publication).toMatchObject({ state: 'en_cuarentena', fecha_dato: null, published_at: null });
    expect(publication!.state_reason).toMatch(/^date_unknown: /);
    // Fetching the same bytes again without a date makes no second publication.
    expect((await harness.run()).publication!.id).toBe(publication!.id);
    const { pool } = harness.stream;
    const decision = { by: 'Ana', reason: 'seen on the page', fechaDato: null };
    const approve = (fechaDato: string | null) =>
      inTransaction(pool, (client) => approvePublication(client, publication!.id, { ...decision, fechaDato }));
    await expect(approve(null)).rejects.toMatchObject({ code: 'date_missing' });
    await approve('2026-10-20');
    await wakePublish(harness.client, register);
    expect(await harness.settled(publication!.id)).toMatchObject({
      ...{ decided_by: 'Ana', fecha_dato: '2026-10-20', state: 'publicada' },
    });
  });

  it("takes the landing page's date when the download has none", async () => {
    await put('utf8');
    harness.site.page = '<div class="titulo">Padrón <b>21/10/2026</b></div>';
    harness.site.misbehave({ mode: 'no_dates' });
    expect((await harness.run()).publication).toMatchObject({ fecha_dato: '2026-10-21', state: 'en_cuarentena' });
  });

  it('that declares too many bytes is refused unseen', async () => {
    await put('empty_name');
    harness.site.misbehave({ mode: 'declares', bytes: 2 ** 40 });
    const { publication } = await harness.run();
    expect(publication).toMatchObject({ state: 'en_cuarentena', sha256: null });
    expect(publication!.state_reason).toMatch(/^too_large: the declared 1099511627776 bytes/);
    await expect(
      inTransaction(harness.stream.pool, (client) =>
        approvePublication(client, publication!.id, { by: 'Ana', reason: null, fechaDato: '2026-10-20' }),
      ),
    ).rejects.toMatchObject({ code: 'bytes_missing' });
  });
});

describe('a publication with bad lines', () => {
  it.each<[Fault, Record<string, unknown>]>([
    ['bad_check_digit', { rejected: 1, duplicates: 0 }],
    ['broken_line', { rejected: 1, duplicates: 0 }],
    ['duplicate', { rejected: 0, duplicates: 1 }],
    ['other_prefix', { rejected: 1, duplicates: 0 }],
  ])('%s is taken on: the line is counted and its reason kept, and no known RUC disappears', async (fault, counts) => {
    await put(fault);
    const { publication } = await harness.run();
    expect(publication).toMatchObject({ state: 'publicada', ...counts });
    const comparison = publication!.compare_result as { rejectsSha256: string; counts: { deleted: number } };
    expect(comparison.counts.deleted).toBe(0);
    const rejects = { register, kind: 'rejects', sha256: comparison.rejectsSha256 } as const;
    expect(await harness.archive.size(rejects)).toBeGreaterThan(0);
    expect((await state()).size).toBe(count);
  });
});

describe("an operator's decision", () => {
  it('approved: the gates are recorded and overruled, the comparison is with the state of today', async () => {
    await put('every_name_changed');
    const { publication } = await harness.run();
    expect(publication).toMatchObject({ state: 'en_cuarentena' });
    const { pool } = harness.stream;
    await put('bad_check_digit');
    const newer = (await harness.run()).publication!;
    expect(newer.state).toBe('publicada');
    // A newer publication has become the head meanwhile. An older one never replaces it, so it is not approved.
    await expect(
      inTransaction(pool, (client) =>
        approvePublication(client, publication!.id, { by: 'Ana', reason: null, fechaDato: null }),
      ),
    ).rejects.toMatchObject({ code: 'older_than_head' });
    expect(await findPublication(pool, publication!.id)).toMatchObject({ state: 'en_cuarentena', decided_by: null });

    await put('every_name_changed');
    const again = (await harness.run()).publication!;
    expect(again.state).toBe('en_cuarentena');
    await inTransaction(pool, (client) =>
      approvePublication(client, again.id, { by: 'Ana', reason: 'announced', fechaDato: null }),
    );
    await wakePublish(harness.client, register);
    const taken = await harness.settled(again.id);
    expect(taken).toMatchObject({ state: 'publicada', decided_by: 'Ana' });
    expect(taken.gates.some((gate) => !gate.passed)).toBe(true);
    expect([...(await state()).values()].every(([nombre]) => nombre!.endsWith(' X'))).toBe(true);
  });

  it('rejected: final, and only from quarantine', async () => {
    await put('no_txt');
    const { publication } = await harness.run();
    const { pool } = harness.stream;
    const reject = () =>
      inTransaction(pool, (client) => rejectPublication(client, publication!.id, { by: 'Ana', reason: 'no text' }));
    expect(await reject()).toMatchObject({ state: 'rechazada', decided_by: 'Ana', state_reason: 'no text' });
    await expect(reject()).rejects.toMatchObject({ code: 'state_forbids' });
    expect(await findPublication(pool, publication!.id)).toMatchObject({ state: 'rechazada' });
  });
});
