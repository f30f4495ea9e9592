import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Entry, open, type ZipFile } from 'yauzl';
import type { PublishedDay } from '../../../../../deploy/local/demo/register/day.ts';
import { type TwoDays, writeTwoDays } from '../../../../../deploy/local/demo/two-days.ts';
import type { LargeFormat, SmallFormat } from '../../../../../pipelines/registers/module.ts';
import { registerModules } from '../../../../../pipelines/registers/modules.ts';
import { limaDay } from '../../../../../schemas/lima-time.ts';
import { type RegisterName, registerNames } from '../../../../../schemas/registers.ts';

// The product's own readers read the invented registers back, and reject nothing.

let folder: string;
let days: TwoDays;

beforeAll(async () => {
  folder = mkdtempSync(path.join(tmpdir(), 'padron-two-days-'));
  days = await writeTwoDays(folder, 4_000);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('small registers', () => {
  const small = registerNames.filter((name) => registerModules[name].format.size === 'small');

  it.each(small)('%s reads without a bad line and grows or shrinks a little', async (register) => {
    const [first, second] = [await readSmall(days.first, register), await readSmall(days.second, register)];
    expect([first.listed, second.listed]).toEqual([[], []]);
    expect(first.rows.size).toBeGreaterThan(5);
    expect(Math.abs(second.rows.size - first.rows.size)).toBeLessThan(5);
  });

  it.each(['agentes_retencion', 'buenos_contribuyentes'] as const)('%s changes by who is said to', async (list) => {
    const [first, second] = [await readSmall(days.first, list), await readSmall(days.second, list)];
    const only = (one: typeof first, other: typeof first) => [...one.rows.keys()].filter((ruc) => !other.rows.has(ruc));
    expect(only(second, first).sort()).toEqual([...days.listChanges[list].entered].sort());
    expect(only(first, second).sort()).toEqual([...days.listChanges[list].left].sort());
  });

  it('lists and bars of state contracting are about taxpayers of the daily register, other ids apart', async () => {
    const daily = new Set((await textOf(days.second, 'padron_reducido')).toString('latin1').match(/^\d{11}/gm));
    for (const register of small) {
      const { rows } = await readSmall(days.second, register);
      const strangers = [...rows.keys()].filter((id) => !daily.has(id) && !id.startsWith('99'));
      expect(strangers).toEqual([]);
    }
  });
});

describe('the dates', () => {
  it.each(registerNames)('of %s are where its source reads them', async (register) => {
    const { date } = registerModules[register].source;
    const file = fileOf(days.second, register);
    const html = days.second.pages.find(({ sitePath }) => sitePath.startsWith(path.dirname(file.sitePath)))?.html ?? '';
    const text = await textOf(days.second, register);
    const found =
      date.from === 'text'
        ? date.read(text.subarray(0, 65_536))
        : date.from === 'page'
          ? date.read(html)
          : limaDay(days.second.lastModified);
    expect(found).toEqual(
      typeof found === 'string' ? file.fechaDato : expect.objectContaining({ fechaDato: file.fechaDato }),
    );
  });
});

describe('the monthly register', () => {
  it('changes some values between months, although delimiter and encoding change as well', async () => {
    const texts = [await textOf(days.first, 'padron_mensual'), await textOf(days.second, 'padron_mensual')];
    expect(texts.map((text) => text.toString('latin1', 3, 4))).toEqual(['|', ',']);
    expect(texts.map((text) => text.includes(Buffer.from('BOQUERÓN', 'utf8')))).toEqual([false, true]);
    const [first, second] = [await monthlyLines(days.first), await monthlyLines(days.second)];
    const changed = [...second].filter(([ruc, line]) => first.has(ruc) && first.get(ruc) !== line);
    expect(changed.length).toBeGreaterThan(5);
    expect(changed.length).toBeLessThan(100);
  });
});

function fileOf(day: PublishedDay, register: RegisterName) {
  return day.files.find((file) => file.register === register)!;
}

async function readSmall(day: PublishedDay, register: RegisterName) {
  return (registerModules[register].format as SmallFormat).read(await textOf(day, register));
}

/** The lines by RUC, in the form that the scanner reads. */
async function monthlyLines(day: PublishedDay): Promise<Map<string, string>> {
  const { canonical } = registerModules.padron_mensual.format as LargeFormat;
  const text = await textOf(day, 'padron_mensual');
  const pieces: Buffer[] = [];
  for await (const piece of canonical!(
    (async function* () {
      yield text;
    })(),
  ))
    pieces.push(Buffer.from(piece));
  const lines = Buffer.concat(pieces).toString('latin1').split('\n').slice(1, -1);
  return new Map(lines.map((line) => [line.slice(0, 11), line]));
}

async function textOf(day: PublishedDay, register: RegisterName): Promise<Buffer> {
  const file = fileOf(day, register).path;
  const { container } = registerModules[register].source;
  if (container.kind === 'plain') return readFileSync(file);
  const zip = await promisify<string, { lazyEntries: boolean }, ZipFile>(open)(file, { lazyEntries: true });
  const entry = await new Promise<Entry>((resolve, reject) => {
    zip.once('entry', resolve).once('error', reject);
    zip.readEntry();
  });
  expect(entry.fileName).toMatch(container.entry);
  const pieces: Buffer[] = [];
  for await (const piece of await zip.openReadStreamPromise(entry)) pieces.push(piece as Buffer);
  return Buffer.concat(pieces);
}
