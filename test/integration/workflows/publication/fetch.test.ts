import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, inject, it } from 'vitest';
import { sitePaths } from '../../../../deploy/local/demo/register/day.ts';
import { listPage } from '../../../../deploy/local/demo/register/lists.ts';
import { writeZip } from '../../../../deploy/local/demo/register/publication.ts';
import { readHead } from '../../../../pipelines/editions/heads.ts';
import { findPublication, listPublications } from '../../../../pipelines/editions/publications.ts';
import { columnNames } from '../../../../pipelines/registers/padron-mensual-rewrite.ts';
import { PartFile } from '../../../../pipelines/registers/part-file.ts';
import { addressesOf } from '../../../../pipelines/registers/settings.ts';
import { type RegisterName, registerNames } from '../../../../schemas/registers.ts';
import { checkDigit } from '../../../../schemas/ruc.ts';
import { fetchPublication, probe } from '../../../../workflows/publication/fetch.ts';
import type { Fault } from '../../../support/publication/official-site.ts';
import { makeStepHarness, type StepHarness } from '../../../support/publication/step-harness.ts';

const list = 'agentes_retencion';
const { file: listFile, page: listPagePath } = sitePaths[list];
const barFile = sitePaths.sancionados.file;
const day = (date: number, hour = 12) => new Date(Date.UTC(2026, 9, date, hour));
let harness: StepHarness;
let folder: string;
let zips = 0;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'padron-fetch-test-'));
  harness = await makeStepHarness(inject('endpoints'), 1_000);
});
beforeEach(() => {
  harness.site.misbehave({ mode: 'ok' });
  harness.site.onCut = null;
  harness.asked();
});
afterAll(async () => {
  await harness?.close();
  rmSync(folder, { recursive: true, force: true });
});

async function zipOf(name: string, text: string): Promise<Buffer> {
  zips += 1;
  const path = join(folder, `${zips}.zip`);
  await writeZip(path, [{ name, content: Buffer.from(text, 'latin1') }], 0);
  return readFileSync(path);
}

/** A publication of some 140 kB that differs for each `mark`. */
function listZip(mark: string): Promise<Buffer> {
  const records = Array.from({ length: 2_000 }, (_, index) => {
    const ten = `20${String(99_000_000 + index)}`;
    return `${ten}${checkDigit(ten)}|EMPRESA DE PRUEBA ${mark} ${index}|01/10/2023|RS R.S.186-2023|\r`;
  });
  return zipOf('AgenRet_TXT.txt', `Ruc|Nombre/Razon|A partir del|Resolucion|\r${records.join('')}`);
}

async function showList(mark: string, at: Date): Promise<Buffer> {
  const bytes = await listZip(mark);
  harness.site.place(listFile, bytes, at);
  harness.site.placePage(listPagePath!, listPage(list, 'AgenRet_TXT.zip', at));
  return bytes;
}

const head = (register: RegisterName = list) => readHead(harness.pool, register);
const sha256 = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex');
const fetched = (register: RegisterName) =>
  harness.asked().filter((request) => request === `GET ${sitePaths[register].file}`).length;

/** Makes the publication with these bytes the register's head, without publishing it. */
async function makeHead(bytes: Buffer, fechaDato: string, publishedAt: Date): Promise<void> {
  await harness.pool.query(
    `UPDATE register_head SET edition = 1, publication_sha256 = $2, fecha_dato = $3, published_at = $4 WHERE register = $1`,
    [list, sha256(bytes), fechaDato, publishedAt],
  );
}

describe('a site that is unwell for a while', () => {
  let version = 0;

  it.each<Fault>([
    { mode: 'status', status: 503, times: 2 },
    { mode: 'reset', afterBytes: 30_000, times: 3 },
    { mode: 'stall', afterBytes: 50_000, times: 1 },
    { mode: 'no_head' },
    { mode: 'no_ranges' },
  ])('gives the whole file in the end: $mode', async (fault) => {
    version += 1;
    const bytes = await showList(`V${version}`, day(version));
    const before = await head();
    // The probe uses up some of the 503 answers itself.
    harness.site.misbehave(fault, listFile);
    const taken = fault.mode === 'status' ? await again(() => harness.fetch(list)) : await harness.fetch(list);
    expect(taken).toMatchObject({ state: 'descargada', sha256: sha256(bytes), fecha_dato: `2026-10-0${version}` });
    expect(await head()).toEqual({ ...before, probed_at: expect.any(Date) });
  });

  it('whose file is replaced during a resume gives the new one, under its own version and date', async () => {
    await showList('OLD', day(10));
    const replacement = await listZip('NEW');
    harness.site.misbehave({ mode: 'reset', afterBytes: 30_000, times: 1 }, listFile);
    harness.site.onCut = () => {
      harness.site.place(listFile, replacement, day(11));
      harness.site.placePage(listPagePath!, listPage(list, 'AgenRet_TXT.zip', day(11)));
    };
    expect(await harness.fetch(list)).toMatchObject({
      state: 'descargada',
      sha256: sha256(replacement),
      fecha_dato: '2026-10-11',
      validators: { last_modified: day(11).toUTCString() },
    });
    expect(await harness.fetch(list)).toBeNull();
  });

  it('is asked again where a finished download has changed on this disk', async () => {
    const bytes = await showList('CHANGED', day(12));
    const { publicationId } = await probe(harness.parts, list);
    const file = await harness.parts.archive.incomingFile(`${list}-${publicationId}.part`);
    writeFileSync(file, Buffer.alloc(bytes.length, 'x'));
    await new PartFile(file).writeNote({
      ...{ url: harness.parts.sources[list].url, etag: null, lastModified: day(12).toUTCString(), contentType: null },
      ...{ answeredAt: null, declaredBytes: bytes.length, finished: { sha256: sha256(bytes), bytes: bytes.length } },
    });
    const fetch = () => fetchPublication(harness.parts, list, publicationId!);
    await expect(fetch()).rejects.toMatchObject({ retryable: true, message: /has changed on this disk/ });
    expect(await fetch()).toEqual({ outcome: 'archived', publicationId });
    expect(await findPublication(harness.pool, publicationId!)).toMatchObject({ sha256: sha256(bytes) });
  });

  it('that lost the file says so for an operator, and the register stays as it is', async () => {
    const before = await head();
    harness.site.misbehave({ mode: 'status', status: 404 }, listFile);
    await expect(harness.fetch(list)).rejects.toMatchObject({
      retryable: true,
      message: expect.stringContaining('404'),
    });
    expect(await head()).toEqual(before);
  });
});

/** Repeats the step until it succeeds, as the workflow does. */
async function again<Result>(step: () => Promise<Result>): Promise<Result> {
  for (let attempt = 0; attempt < 5; attempt += 1) {
    try {
      return await step();
    } catch (error) {
      if ((error as { retryable?: boolean }).retryable !== true) throw error;
    }
  }
  return await step();
}

describe('a list that its own page dates', () => {
  it('has the page asked again while that is away, without a second download', async () => {
    await showList('AWAY', day(12));
    harness.site.misbehave({ mode: 'status', status: 503 }, listPagePath!);
    await expect(harness.fetch(list)).rejects.toMatchObject({ code: 'source_unavailable', retryable: true });
    expect(fetched(list)).toBe(1);
    harness.site.misbehave({ mode: 'ok' });
    expect(await harness.fetch(list)).toMatchObject({ state: 'descargada', fecha_dato: '2026-10-12' });
    expect(fetched(list)).toBe(0);
  });

  it('goes to quarantine when the page is the other list’s', async () => {
    await showList('SWAPPED', day(13));
    harness.site.placePage(listPagePath!, listPage('buenos_contribuyentes', 'BueCont_TXT.zip', day(13)));
    const swapped = await harness.fetch(list);
    expect(swapped).toMatchObject({ state: 'en_cuarentena', fecha_dato: null });
    expect(swapped!.state_reason).toMatch(/^date_unknown: .*buenos_contribuyentes/);
  });

  it('moves its date forward when the page does and the bytes stay, and never back', async () => {
    const bytes = await showList('STEADY', day(14));
    expect(await harness.fetch(list)).toMatchObject({ state: 'descargada', fecha_dato: '2026-10-14' });
    await makeHead(bytes, '2026-10-14', day(14));
    harness.asked();
    const datesAfter = async (date: number) => {
      harness.site.placePage(listPagePath!, listPage(list, 'AgenRet_TXT.zip', day(date)));
      expect(await harness.fetch(list)).toBeNull();
      const { fecha_dato, published_at } = await head();
      return [fecha_dato, published_at];
    };
    expect(await datesAfter(16)).toEqual(['2026-10-16', day(14)]);
    expect(await datesAfter(15)).toEqual(['2026-10-16', day(14)]);
    harness.site.misbehave({ mode: 'status', status: 503 }, listPagePath!);
    expect(await datesAfter(17)).toEqual(['2026-10-16', day(14)]);
    expect(fetched(list)).toBe(0);
  });

  it('leaves an old copy its own time, so that it is older than the head whatever the page says by now', async () => {
    harness.site.place(listFile, await listZip('COPY'), day(2));
    harness.site.placePage(listPagePath!, listPage(list, 'AgenRet_TXT.zip', day(16)));
    const copy = await harness.fetch(list);
    expect(copy).toMatchObject({ fecha_dato: '2026-10-16', published_at: day(2) });
    expect(copy!.published_at! < (await head()).published_at!).toBe(true);
  });
});

describe('a register whose address names the month', () => {
  const register = 'padron_mensual';
  const now = new Date();
  const paths = addressesOf(sitePaths[register].file, now);
  const periods = paths.map((path) => /\d{6}/.exec(path)![0]);
  const monthly = (period: string) =>
    zipOf(
      `PadronRUC_${period}.csv`,
      `${columnNames.join(',')}\n20990000019,ACTIVO,HABIDO,-,-,-,-,0,-,-,-,150122,LIMA,LIMA,LIMA,${period}\n`,
    );
  const firstDay = (period: string) => `${period.slice(0, 4)}-${period.slice(4)}-01`;

  it('is asked again later when no month is there', async () => {
    await expect(harness.fetch(register)).rejects.toMatchObject({ retryable: true });
    expect(new Set(harness.asked().map((request) => request.split(' ')[1]))).toEqual(new Set(paths));
    expect(await listPublications(harness.pool, { register, state: null, maxRows: 9 })).toEqual([]);
  });

  it('gives the newest month that is there; an error page that comes with 200 is none', async () => {
    harness.site.misbehave({ mode: 'html' }, paths[0]!);
    harness.site.place(paths[2]!, await monthly(periods[2]!), day(19));
    const taken = await harness.fetch(register);
    expect(taken).toMatchObject({
      state: 'descargada',
      url: `${harness.site.origin}${paths[2]}`,
      fecha_dato: firstDay(periods[2]!),
      published_at: day(19),
    });
    expect(await harness.fetch(register)).toBeNull();
  });

  it('takes a newer month for new whatever its validators say, and knows its bytes', async () => {
    harness.site.place(paths[1]!, await monthly(periods[2]!), day(19));
    const [known] = await listPublications(harness.pool, { register, state: null, maxRows: 1 });
    expect((await harness.fetch(register))!.id).toBe(known!.id);
    expect(harness.asked()).toContain(`GET ${paths[1]}`);

    harness.site.place(paths[1]!, await monthly(periods[1]!), day(20));
    expect(await harness.fetch(register)).toMatchObject({ fecha_dato: firstDay(periods[1]!), state: 'descargada' });
  });

  it('never looks for a month before the one it has', async () => {
    harness.site.misbehave({ mode: 'status', status: 404 }, paths[1]!);
    await expect(harness.fetch(register)).rejects.toMatchObject({ retryable: true });
    expect(harness.asked().join()).not.toContain(paths[2]);
  });
});

describe('a text that is its own file', () => {
  const text = (cut: string) =>
    `FECHA_CORTE|RUC|NOMBRE_RAZONODENOMINACIONSOCIAL|FECHA_INICIO|FECHA_FIN|NUMERO_RESOLUCION|ID_MOTIVO_INFRACCION|DE_MOTIVO_INFRACCION\r\n${cut}|20990000019|COMERCIAL PRUEBA UNO S.A.C.|20250115|20260415|0001-2025-TCE-S1|214,|TEXTO\r\n`;

  it('is dated by its own cut', async () => {
    harness.site.place(barFile, Buffer.from(text('20261004')), day(5));
    expect(await harness.fetch('sancionados')).toMatchObject({
      state: 'descargada',
      fecha_dato: '2026-10-04',
      published_at: day(5),
    });
  });

  it.each<[string, Buffer | (() => Promise<Buffer>), RegExp]>([
    ['a web page', Buffer.from('<html>Servicio en mantenimiento</html>'), /^text_invalid: .*HTML/],
    ['a zip', () => zipOf('sancionados.csv', text('20261005')), /^text_invalid: .*zip/],
    ['nothing', Buffer.alloc(0), /^empty: /],
    ['no date', Buffer.from(text('')), /^date_unknown: .*text/],
    ['a day that has not come', Buffer.from(text('29991231')), /^date_unknown: /],
  ])('goes to quarantine with its reason: %s', async (_name, content, reason) => {
    harness.site.place(barFile, Buffer.isBuffer(content) ? content : await content(), day(6));
    const taken = await harness.fetch('sancionados');
    expect(taken).toMatchObject({ state: 'en_cuarentena', fecha_dato: null });
    expect(taken!.state_reason).toMatch(reason);
  });
});

it('leaves the head of every register without an edition', async () => {
  for (const register of registerNames) {
    if (register !== list) expect(await head(register)).toMatchObject({ edition: 0, publication_sha256: null });
  }
});
