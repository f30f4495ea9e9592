import { mkdtempSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { entryName, writeZip } from '../../../../deploy/local/demo/register/publication.ts';
import { keepChangedLines, readChangedLines } from '../../../../pipelines/diff/changed-lines.ts';
import { writeChanges } from '../../../support/registers/change-files.ts';
import { change, row } from '../../../support/watch/harness.ts';

const folder = mkdtempSync(join(tmpdir(), 'padron-changed-lines-'));
const kept = join(folder, 'lines');
afterAll(() => rmSync(folder, { recursive: true }));

const register = 'padron_reducido' as const;
const signal = new AbortController().signal;
const [changed, added, ended, person] = ['20990000019', '20990000027', '20990000035', '10458741239'];
const at = new Date('2026-11-27T08:00:00Z');

async function publication(name: string, lines: readonly string[]): Promise<{ path: string; isLast: boolean }> {
  const path = join(folder, name);
  const text = ['RUC|NOMBRE|', ...lines].join('\n');
  await writeZip(path, [{ name: entryName, content: Buffer.from(text, 'latin1') }], 6);
  return { path, isLast: false };
}

const changes = writeChanges(folder, register, 2, [
  change(2, person, at, { before: row({ nombre: 'ANTES' }), after: row({ nombre: 'DESPUÉS' }) }),
  change(2, changed, at, { before: row({ nombre: 'A' }), after: row({ nombre: 'B' }) }),
  change(2, added, at, { op: 'c', before: null, after: row({ nombre: 'C' }) }),
  change(2, ended, at, { op: 'd', before: row({ nombre: 'D' }), after: null }),
]);

async function inputs() {
  const before = await publication('before.zip', [`${person}|ANTES|`, `${ended}|D|`, `${changed}|LA "Ñ" {"ruc":"|`]);
  const after = await publication('after.zip', [`${added}|C|`, `${changed}|B|`, `${person}|DESPUÉS|`]);
  return {
    ...{ register, changeFile: changes.path, folder: kept, name: `${register}.1.lines` },
    before,
    after,
  } as const;
}

test('the lines of all companies that changed are kept, and no line of a person', async () => {
  const parts: number[] = [];
  const input = await inputs();
  expect(await readChangedLines(kept, input.name, changed)).toBeNull();
  const { companies, bytes } = await keepChangedLines(input, (part) => parts.push(part), signal);
  expect([companies, parts.at(-1)]).toEqual([3, 1]);
  const line = (ruc: string) => readChangedLines(kept, input.name, ruc);
  expect(await line(changed)).toEqual({ before: `${changed}|LA "Ñ" {"ruc":"|`, after: `${changed}|B|` });
  expect(await line(added)).toEqual({ before: null, after: `${added}|C|` });
  expect(await line(ended)).toEqual({ before: `${ended}|D|`, after: null });
  expect(await line(person)).toBeUndefined();
  const text = readFileSync(join(kept, input.name));
  expect([text.length, text.includes(person)]).toEqual([bytes, false]);
});

test('a publication that is gone, or was never there, has no lines', async () => {
  const input = { ...(await inputs()), before: null };
  await keepChangedLines(input, () => {}, signal);
  expect(await readChangedLines(kept, input.name, changed)).toEqual({ before: null, after: `${changed}|B|` });
});

test('stopped work leaves no file, and the oldest files make room', async () => {
  const input = { ...(await inputs()), name: `${register}.2.lines` };
  await expect(keepChangedLines(input, () => {}, AbortSignal.abort(new Error('over')))).rejects.toThrow('over');
  expect(readdirSync(kept)).not.toContain(input.name);
  for (let number = 1; number <= 40; number += 1) {
    const path = join(kept, `padron_mensual.${number}.lines`);
    writeFileSync(path, '');
    utimesSync(path, number, number);
  }
  await keepChangedLines(input, () => {}, signal);
  const names = readdirSync(kept);
  expect(names).toHaveLength(30);
  expect(names).toContain(input.name);
  expect(names).toContain('padron_mensual.40.lines');
  expect(names).not.toContain('padron_mensual.12.lines');
});
