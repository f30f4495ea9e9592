import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, inject, it } from 'vitest';
import { populationOf, taxpayerOn } from '../../../../deploy/local/demo/register/population.ts';
import { listEditions } from '../../../../pipelines/editions/editions.ts';
import { readHead } from '../../../../pipelines/editions/heads.ts';
import { comparisonOf } from '../../../../workflows/publication/comparison.ts';
import { type Fault, writeFault } from '../../../fixtures/padron-reducido/faults.ts';
import { makeStepHarness, type StepHarness } from '../../../support/publication/step-harness.ts';

const register = 'padron_reducido';
const population = populationOf(2_000, 11);
const rows = Array.from({ length: population.rows }, (_, index) => {
  const { ruc, cells } = taxpayerOn(population, index, 1);
  return `${ruc}|${cells.join('|')}|`;
});
let harness: StepHarness;
let folder: string;
let minutes = 0;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'padron-faults-'));
  harness = await makeStepHarness(inject('endpoints'));
  await show('good');
  expect(await harness.run(register)).toMatchObject({ state: 'publicada', edition: 1, rows: rows.length });
});
beforeEach(() => harness.site.misbehave({ mode: 'ok' }));
afterAll(async () => {
  await harness?.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Puts the file on the site, dated a minute after the one before, and returns its time. */
async function show(fault: Fault): Promise<Date> {
  const path = join(folder, `${fault}.zip`);
  await writeFault(fault, path, rows);
  minutes += 1;
  const at = new Date(Date.UTC(2026, 9, 20, 8, minutes));
  harness.site.publish(readFileSync(path), at);
  return at;
}

const head = async () => {
  const { edition, fecha_dato, published_at, publication_sha256, change_file_sha256 } = await readHead(
    harness.pool,
    register,
  );
  return { edition, fecha_dato, published_at, publication_sha256, change_file_sha256 };
};
const editions = () => listEditions(harness.pool, { register, maxRows: 100 });

describe('a file that the site gives without an error and that is not the register of today', () => {
  it.each<[Fault, RegExp]>([
    ['absurd_size', /^zip_size: The text declares 1099511627776 bytes; the limit is \d+\.$/],
    ['everything_changed', /^gates: .*\d+ of \d+ rows of kind company changed \(100 %, limit \d/],
    ['ubigeo_emptied', /^gates: .*ubigeo is empty in 2000 of 2000 rows/],
    ['estado_emptied', /^gates: .*2000 of 2000 rows have an empty cell that never is empty/],
  ])('%s: quarantine with its reason, and the head stays', async (fault, reason) => {
    const before = await head();
    await show(fault);
    const publication = await harness.run(register);
    expect(publication).toMatchObject({ state: 'en_cuarentena', edition: null });
    expect(publication!.state_reason).toMatch(reason);
    expect(publication!.state_reason).not.toMatch(/\b1[057]\d{9}\b/);
    expect(await head()).toEqual(before);
    expect(await editions()).toHaveLength(1);
  });

  it('an error page with 200: quarantine, and the file is taken when it is there again', async () => {
    harness.site.misbehave({ mode: 'html' });
    const page = await harness.run(register);
    expect(page).toMatchObject({ state: 'en_cuarentena' });
    expect(page!.state_reason).toMatch(/^zip_invalid: .*web page \(HTML\)/);
    // Fetching the same page again makes no second publication.
    expect((await harness.run(register))!.id).toBe(page!.id);
    harness.site.misbehave({ mode: 'ok' });
    await show('good');
    expect(await harness.run(register)).toMatchObject({ state: 'repetida' });
  });
});

describe('a site that goes on', () => {
  const updated = async () => (await editions())[0]!.counts.updated;

  it('with the next file after quarantined ones: they hold nothing back', async () => {
    await show('ten_names_changed');
    expect(await harness.run(register)).toMatchObject({ state: 'publicada', edition: 2 });
    expect(await updated()).toBe(10);
  });

  it('with a repaired file of the same day', async () => {
    await show('twenty_names_changed');
    const repaired = await harness.run(register);
    expect(repaired).toMatchObject({ state: 'publicada', edition: 3, fecha_dato: '2026-10-20' });
    expect(comparisonOf(repaired!).counts).toMatchObject({ updated: 10, inserted: 0, deleted: 0 });
  });

  it('A → B → A with a new time: an edition that goes back', async () => {
    await show('ten_names_changed');
    expect(await harness.run(register)).toMatchObject({ state: 'publicada', edition: 4 });
    expect(await updated()).toBe(10);
  });

  it('A → B → A under the old time: a version that is known, so nothing happens', async () => {
    const before = await head();
    const [bytes, at] = [harness.site.file!.bytes, harness.site.file!.lastModified];
    await show('twenty_names_changed');
    expect(await harness.run(register)).toMatchObject({ state: 'publicada', edition: 5 });
    harness.site.publish(bytes, at);
    harness.asked();
    expect(await harness.run(register)).toBeNull();
    expect(harness.asked().every((request) => request.startsWith('HEAD'))).toBe(true);
    expect(await head()).toMatchObject({ edition: 5 });
    expect(before.edition).toBe(4);
  });

  it('with a file that is older than the head: quarantine', async () => {
    const before = await head();
    await show('good');
    harness.site.publish(harness.site.file!.bytes, new Date(Date.UTC(2026, 9, 19)));
    const older = await harness.run(register);
    expect(older).toMatchObject({ state: 'en_cuarentena' });
    expect(older!.state_reason).toMatch(/^date: the site went back to an older file/);
    expect(await head()).toEqual(before);
  });

  it('with a zip that has other files beside the text', async () => {
    const before = await head();
    await show('files_beside');
    expect(await harness.run(register)).toMatchObject({ state: 'publicada', edition: before.edition + 1 });
    expect(await updated()).toBe(20);
    await show('twenty_names_changed');
    expect(await harness.run(register)).toMatchObject({ state: 'publicada' });
  });

  it('with the head’s bytes at a later time: only the date moves', async () => {
    const at = await show('twenty_names_changed');
    expect(await harness.run(register)).toMatchObject({ state: 'repetida', edition: null });
    expect(await head()).toMatchObject({ edition: 7, published_at: at });
  });
});
