import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { populationOf, taxpayerOn } from '../../../../deploy/local/demo/register/population.ts';
import { approvePublication } from '../../../../pipelines/editions/decisions.ts';
import { readHead } from '../../../../pipelines/editions/heads.ts';
import { findPublication, type Publication } from '../../../../pipelines/editions/publications.ts';
import { servedEditions } from '../../../../pipelines/editions/served.ts';
import { header } from '../../../../pipelines/registers/padron-reducido.ts';
import { inTransaction } from '../../../../pipelines/runtime/postgres.ts';
import { limaDay, startOfLimaDay } from '../../../../schemas/lima-time.ts';
import { makeStepHarness, type StepHarness } from '../../../support/publication/step-harness.ts';
import { writeLines } from '../../../support/registers/lines.ts';

// The official site's times are wrong in one way after another. Each test goes on where the one before it ended.
const register = 'padron_reducido';
const population = populationOf(300, 17);
const rows = Array.from({ length: population.rows }, (_, index) => {
  const { ruc, cells } = taxpayerOn(population, index, 1);
  return `${ruc}|${cells.join('|')}|`;
});
let harness: StepHarness;
let folder: string;
let files = 0;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'padron-times-'));
  harness = await makeStepHarness(inject('endpoints'));
  await show(daysAgo(6));
  expect(await harness.run(register)).toMatchObject({ state: 'publicada', edition: 1 });
});
afterAll(async () => {
  await harness?.close();
  rmSync(folder, { recursive: true, force: true });
});

/** The time so many days before now, in whole seconds because HTTP dates have no fractions. */
const daysAgo = (days: number) => new Date(Math.floor(Date.now() / 1000 - days * 86_400) * 1000);
const dayOf = (days: number) => limaDay(daysAgo(days));
const startOf = (days: number) => startOfLimaDay(dayOf(days));
const head = () => readHead(harness.pool, register);
const found = async ({ id }: Publication) => (await findPublication(harness.pool, id))!;
const servedDay = async () => (await servedEditions(harness.pool)).get(register)!.fechaDato;

/** Puts a file with other bytes than all before it on the site, under this time. */
async function show(lastModified: Date): Promise<void> {
  files += 1;
  const path = join(folder, `${files}.zip`);
  const changed = rows.map((row, at) => (at === 0 ? row.replace(/^([^|]*\|)[^|]*/, `$1EMPRESA ${files} S.A.C.`) : row));
  await writeLines(path, [header, ...changed]);
  harness.site.publish(readFileSync(path), lastModified);
}

function showPage(day: string): void {
  const [year, month, date] = day.split('-');
  harness.site.page = `<div class="titulo">Padrón <b>${date}/${month}/${year}</b></div>`;
}

function approve(publication: Publication, fechaDato: string | null): Promise<Publication> {
  const decision = { by: 'Ana Ruiz', reason: 'seen on the page', fechaDato };
  return inTransaction(harness.pool, (client) => approvePublication(client, publication.id, decision));
}

describe('a time that no file of the register can have', () => {
  it.each([
    ['1970', new Date(0)],
    ['two years before the newest edition', daysAgo(6 + 730)],
  ])('(%s) counts as none: the landing page dates the file', async (_what, lastModified) => {
    const days = lastModified.getTime() === 0 ? 5 : 4;
    await show(lastModified);
    showPage(dayOf(days));
    const publication = await harness.run(register);
    expect(publication).toMatchObject({ state: 'publicada', fecha_dato: dayOf(days), published_at: startOf(days) });
  });

  it('and a page that has not moved on yet: the file waits, and goes on with the page, without a second download', async () => {
    await show(new Date(0));
    showPage(dayOf(5));
    const early = (await harness.run(register))!;
    expect(early).toMatchObject({ state: 'en_cuarentena', state_reason: expect.stringMatching(/^date: /) });
    harness.asked();
    expect(await harness.run(register)).toBeNull();
    expect(await found(early)).toMatchObject({ state: 'en_cuarentena' });
    showPage(dayOf(3));
    expect(await harness.run(register)).toBeNull();
    expect(await found(early)).toMatchObject({ state: 'publicada', fecha_dato: dayOf(3) });
    expect(harness.asked().filter((request) => request === `GET ${new URL(harness.site.url).pathname}`)).toEqual([]);
  });
});

describe('a header that is corrected later, under the same ETag', () => {
  it('loads the day of a file that went to quarantine as older', async () => {
    await show(daysAgo(4));
    const older = (await harness.run(register))!;
    expect(older).toMatchObject({ state: 'en_cuarentena', state_reason: expect.stringMatching(/^date: /) });
    const { etag } = harness.site.file!;
    const at = daysAgo(2);
    harness.site.file!.lastModified = at;
    const corrected = await harness.run(register);
    expect(corrected).toMatchObject({ state: 'publicada', fecha_dato: dayOf(2), sha256: older.sha256 });
    expect(corrected!.validators).toEqual({ etag, last_modified: at.toUTCString() });
    expect(await found(older)).toMatchObject({
      state: 'sustituida',
      state_reason: `the site gave the same bytes another time: publication ${corrected!.id}`,
    });
  });

  it('moves the date of the newest edition', async () => {
    const before = await head();
    harness.site.file!.lastModified = daysAgo(1);
    expect(await harness.run(register)).toMatchObject({ state: 'repetida', edition: null });
    expect(await head()).toMatchObject({ edition: before.edition, fecha_dato: dayOf(1) });
    expect(await servedDay()).toBe(dayOf(1));
    harness.asked();
    // A difference within the day is no news.
    harness.site.file!.lastModified = new Date(Math.max(startOf(1).getTime(), daysAgo(1).getTime() - 60_000));
    expect(await harness.run(register)).toBeNull();
    expect(harness.asked().every((request) => request.startsWith('HEAD'))).toBe(true);
  });

  it('that is another one at each request and ahead of our clock makes one download a day', async () => {
    for (const hours of [20, 21, 22]) {
      harness.site.file!.lastModified = daysAgo(-hours / 24);
      const taken = await harness.run(register);
      if (hours === 20) expect(taken).toMatchObject({ state: 'repetida' });
      else expect(taken).toBeNull();
    }
    expect(await servedDay()).toBe(dayOf(0));
  });
});

describe('a time that has not come', () => {
  it('is cut to that of the answer: no look-up gets a date after today, and the next true file is an edition', async () => {
    const today = dayOf(0);
    await show(daysAgo(-20 / 24));
    const ahead = await harness.run(register);
    expect(ahead).toMatchObject({ state: 'publicada' });
    expect([today, dayOf(0)]).toContain(ahead!.fecha_dato);
    expect(ahead!.published_at!.getTime()).toBeLessThanOrEqual(Date.now());
    expect([today, dayOf(0)]).toContain(await servedDay());
    await show(daysAgo(-1 / 86_400));
    expect(await harness.run(register)).toMatchObject({ state: 'publicada', edition: ahead!.edition! + 1 });
  });
});

describe('a file that is older than the head, and an operator', () => {
  let older: Publication;
  const state = async () => (await found(older)).state;

  it('is not approved as it is, nor with an older day or one that has not come: it still waits', async () => {
    await show(daysAgo(3));
    older = (await harness.run(register))!;
    expect(older).toMatchObject({ state: 'en_cuarentena', state_reason: expect.stringMatching(/^date: /) });
    const { fecha_dato } = await head();
    await expect(approve(older, null)).rejects.toMatchObject({
      code: 'older_than_head',
      message: expect.stringContaining(`--date (${fecha_dato} or later)`),
    });
    await expect(approve(older, dayOf(2))).rejects.toMatchObject({ code: 'older_than_head' });
    await expect(approve(older, dayOf(-1))).rejects.toMatchObject({ code: 'date_ahead' });
    expect(await state()).toBe('en_cuarentena');
  });

  it('becomes an edition when it is approved with the day of its data', async () => {
    const before = await head();
    await approve(older, before.fecha_dato);
    await harness.settle(register);
    expect(await found(older)).toMatchObject({ state: 'publicada', edition: before.edition + 1 });
    expect(await head()).toMatchObject({ fecha_dato: before.fecha_dato, published_at: before.published_at });
  });
});
