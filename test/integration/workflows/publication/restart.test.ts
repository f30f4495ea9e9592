import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { sitePaths } from '../../../../deploy/local/demo/register/day.ts';
import { listPage } from '../../../../deploy/local/demo/register/lists.ts';
import { writeZip } from '../../../../deploy/local/demo/register/publication.ts';
import { openChangeFile, recordsOf } from '../../../../pipelines/changes/change-file.ts';
import { listEditions } from '../../../../pipelines/editions/editions.ts';
import { columnNames } from '../../../../pipelines/registers/padron-mensual-rewrite.ts';
import { addressesOf } from '../../../../pipelines/registers/settings.ts';
import { encodeWindows1252 } from '../../../../pipelines/registers/windows-1252.ts';
import type { RegisterName } from '../../../../schemas/registers.ts';
import { checkDigit } from '../../../../schemas/ruc.ts';
import { Fuse } from '../../../support/publication/fuse.ts';
import { makeStepHarness, type StepHarness } from '../../../support/publication/step-harness.ts';

const list = 'agentes_retencion';
const listRows = 300;
let harness: StepHarness;
let folder: string;
let hours = 0;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'padron-restart-'));
  harness = await makeStepHarness(inject('endpoints'));
});
afterAll(async () => {
  await harness?.close();
  rmSync(folder, { recursive: true, force: true });
});

const rucOf = (index: number) => {
  const ten = `20${99_000_000 + index}`;
  return ten + checkDigit(ten);
};

async function place(sitePath: string, entry: string, text: Uint8Array, at: Date): Promise<void> {
  const path = join(folder, 'publication.zip');
  await writeZip(path, [{ name: entry, content: text }], 6);
  harness.site.place(sitePath, readFileSync(path), at);
}

/** The list with `changed` rows that only this day has, dated an hour after the one before. */
async function showList(changed: number): Promise<void> {
  hours += 1;
  const at = new Date(Date.UTC(2026, 8, 1, hours));
  const records = Array.from({ length: listRows }, (_, index) => {
    const name = index < changed ? `EMPRESA ${index} DEL DIA ${hours}` : `EMPRESA ${index}`;
    return `${rucOf(index)}|${name}|01/10/2023|RS R.S.186-2023|\r`;
  });
  const text = encodeWindows1252(`Ruc|Nombre/Razon|A partir del|Resolucion|\r${records.join('')}`);
  await place(sitePaths[list].file, 'AgenRet_TXT.txt', text, at);
  harness.site.placePage(sitePaths[list].page!, listPage(list, 'AgenRet_TXT.zip', at));
}

async function newest(register: RegisterName) {
  const [edition] = await listEditions(harness.pool, { register, maxRows: 1 });
  const file = await openChangeFile(
    await harness.parts.archive.localFile({ register, kind: 'changes', sha256: edition!.change_file_sha256 }),
  );
  const rucs: string[] = [];
  for await (const block of file.blocks()) for (const record of recordsOf(block)) rucs.push(record.key());
  await file.close();
  return { number: edition!.number, counts: edition!.counts, rucs };
}

const downloads = (register: RegisterName) => {
  const { file } = sitePaths[register];
  return harness.asked().filter((request) => request === `GET ${file}`).length;
};

describe('a process that dies', () => {
  it('after any one call to the catalogue or the archive: the next one goes on, without a second download', async () => {
    await showList(0);
    await harness.run(list);
    harness.asked();
    let deaths = 0;
    let changedBefore = 0;
    for (let calls = 0; ; calls += 1) {
      const changed = 1 + (calls % 5);
      await showList(changed);
      const fuse = new Fuse(calls);
      const dying = harness.over(fuse.pool(harness.pool), fuse.archive(harness.parts.archive)).run(list);
      await dying.catch(() => {});
      if (!fuse.isBlown) break;
      deaths += 1;
      await harness.run(list);
      const edition = await newest(list);
      // Edition 1 is the first load. No kill loses an edition or makes one twice.
      expect(edition.number, `after ${calls} calls`).toBe(deaths + 1);
      const updated = Math.max(changed, changedBefore);
      expect(edition.counts, `after ${calls} calls`).toMatchObject({ inserted: 0, updated, deleted: 0 });
      changedBefore = changed;
      expect(downloads(list), `after ${calls} calls`).toBe(1);
    }
    expect(deaths).toBeGreaterThan(25);
  });
});

describe('a lost WORK_DIR', () => {
  it('is made anew for a list, and the next difference is exact', async () => {
    await showList(0);
    await harness.run(list);
    rmSync(harness.parts.workDir, { recursive: true });
    harness.asked();
    await showList(3);
    expect(await harness.run(list)).toMatchObject({ state: 'publicada' });
    const { counts, rucs } = await newest(list);
    expect(counts).toMatchObject({ inserted: 0, updated: 3, deleted: 0 });
    expect(rucs.sort()).toEqual([0, 1, 2].map(rucOf).sort());
    expect(downloads(list)).toBe(1);
  });
});

describe('the monthly register', () => {
  const register = 'padron_mensual';
  const [thisMonth, lastMonth] = addressesOf(sitePaths[register].file, new Date()) as [string, string];
  const periodIn = (path: string) => /\d{6}/.exec(path)![0];

  /** Rows of the monthly register; row 7 gets `workers`. */
  const lines = (delimiter: string, period: string, workers: string) =>
    [
      columnNames.join(delimiter),
      ...Array.from({ length: 500 }, (_, index) =>
        [
          ...[rucOf(index), 'ACTIVO', 'HABIDO', 'SOCIEDAD ANONIMA', 'NO DISPONIBLE', 'NO DISPONIBLE'],
          ...['CULTIVO DE CAÑA DE AZÚCAR', index === 7 ? workers : '0', 'MANUAL', 'NO DISPONIBLE', 'SIN ACTIVIDAD'],
          ...['010202', 'HUÁNUCO', 'HUÁNUCO', 'AMARILIS', period],
        ].join(delimiter),
      ),
    ]
      .map((line) => `${line}\n`)
      .join('');

  it('compares cells, not bytes: another delimiter and encoding in the next month change nothing', async () => {
    const [before, now] = [periodIn(lastMonth), periodIn(thisMonth)];
    const first = encodeWindows1252(lines('|', before, '3'));
    await place(lastMonth, `PadronRUC_${before}.csv`, first, new Date(Date.UTC(2026, 8, 3)));
    expect(await harness.run(register)).toMatchObject({ state: 'publicada', edition: 1, rows: 500, rejected: 0 });

    rmSync(harness.parts.workDir, { recursive: true });
    const second = Buffer.from(`\ufeff${lines(',', now, 'NO DISPONIBLE')}`);
    await place(thisMonth, `PadronRUC_${now}.csv`, second, new Date(Date.UTC(2026, 9, 3)));
    expect(await harness.run(register)).toMatchObject({
      state: 'publicada',
      edition: 2,
      fecha_dato: `${now.slice(0, 4)}-${now.slice(4)}-01`,
    });
    const { counts, rucs } = await newest(register);
    expect(counts).toMatchObject({ inserted: 0, updated: 1, deleted: 0, changedByColumn: { nro_trabajadores: 1 } });
    expect(rucs).toEqual([rucOf(7)]);
  });
});
