import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sitePaths } from '../../../deploy/local/demo/register/day.ts';
import { listPage } from '../../../deploy/local/demo/register/lists.ts';
import { writeZip } from '../../../deploy/local/demo/register/publication.ts';
import { checkDigit } from '../../../schemas/ruc.ts';
import type { FaultyOfficialSite } from '../publication/official-site.ts';

export const listRegister = 'agentes_retencion';

/** The names of a list's invented companies by number. A company whose number is missing is off the list. */
export type ListRows = Map<number, string>;

export function listRows(count: number): ListRows {
  return new Map(Array.from({ length: count }, (_, number) => [number, `EMPRESA DE PRUEBA ${number}`]));
}

export function listRuc(number: number): string {
  const ten = `20${99_000_000 + number}`;
  return `${ten}${checkDigit(ten)}`;
}

/** The file as SUNAT publishes it: a zip with one text file whose records end in a bare CR. */
export async function listZip(rows: ListRows): Promise<Buffer> {
  const records = [...rows].map(([number, name]) => `${listRuc(number)}|${name}|01/10/2023|RS R.S.186-2023|\r`);
  const text = `Ruc|Nombre/Razon|A partir del|Resolucion|\r${records.join('')}`;
  const folder = mkdtempSync(join(tmpdir(), 'padron-list-'));
  try {
    const path = join(folder, 'list.zip');
    await writeZip(path, [{ name: 'AgenRet_TXT.txt', content: Buffer.from(text, 'latin1') }], 0);
    return readFileSync(path);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Places the file on the site, with a page that names the same day. */
export function showList(site: FaultyOfficialSite, bytes: Buffer, at: Date): void {
  const { file, page } = sitePaths[listRegister];
  site.place(file, bytes, at);
  site.placePage(page!, listPage(listRegister, 'AgenRet_TXT.zip', at));
}
