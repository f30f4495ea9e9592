import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { shippedCalendar } from '../../../../api/calendar/data/shipped.ts';
import { type CliStage, makeCliStage } from '../../../support/process/cli-stage.ts';
import { runPadron } from '../../../support/process/command.ts';

let stage: CliStage;
beforeAll(async () => {
  stage = await makeCliStage(inject('endpoints'));
});
afterAll(() => stage.close());

const decree = {
  decree: 'D.S. 999-2031-PCM',
  scope: 'national',
  taxBusinessDays: true,
  days: [{ date: '2031-07-25', name: 'Día no laborable para el sector público' }],
};

function fileOf(name: string, content: unknown): string {
  const file = join(stage.folder, name);
  const isRaw = typeof content === 'string' || Buffer.isBuffer(content);
  writeFileSync(file, isRaw ? content : JSON.stringify(content));
  return file;
}

interface Listed {
  kind: string;
  value: { decree?: string; year?: number };
  added: { id: number; by: string; reason: string | null; at: string } | null;
}

test('a decree is added once, with who and why; the list shows it after those of the release', async () => {
  const file = fileOf('decree.json', decree);
  const why = ['--by', 'Ana Ruiz', '--reason', 'El Peruano, 16 May'];
  const first = await stage.document<{ id: number; added: boolean; added_at: string }>(
    ...['calendar', 'add-decree', file, ...why],
  );
  expect(first).toEqual({ id: expect.any(Number), added: true, added_at: expect.stringMatching(/-05:00$/) });
  expect(await stage.document('calendar', 'add-decree', file)).toEqual({ ...first, added: false });
  expect((await stage.padron('calendar', 'add-decree', file)).stdout).toBe(
    `D.S. 999-2031-PCM was there already, added ${first.added_at}: nothing is changed.\n`,
  );

  const listed = await stage.document<Listed[]>('calendar', 'list');
  const { decrees, tables } = shippedCalendar;
  expect(listed.length).toBe(decrees.length + tables.length + 1);
  expect(listed.slice(0, -1).every(({ added }) => added === null)).toBe(true);
  expect(listed.at(-1)).toEqual({
    kind: 'decree',
    value: expect.objectContaining({ decree: 'D.S. 999-2031-PCM' }),
    added: { id: first.id, by: 'Ana Ruiz', reason: 'El Peruano, 16 May', at: first.added_at },
  });
  const lines = (await stage.padron('calendar', 'list')).stdout.trimEnd().split('\n');
  expect(lines[0]).toMatch(/^decree\t.*\trelease$/);
  expect(lines.at(-1)).toBe(
    `decree\tD.S. 999-2031-PCM\t2031-07-25\t${first.id}: Ana Ruiz, ${first.added_at}\tEl Peruano, 16 May`,
  );
});

test('a later file of the same decree is added beside the first', async () => {
  const later = { ...decree, days: [...decree.days, { date: '2031-12-26', name: 'Día no laborable' }] };
  const { stdout, code } = await stage.padron('calendar', 'add-decree', fileOf('later.json', later));
  expect([code, stdout]).toEqual([0, 'D.S. 999-2031-PCM is added; running processes serve it within a minute.\n']);
  const added = (await stage.document<Listed[]>('calendar', 'list')).filter((entry) => entry.added !== null);
  expect(added.map((entry) => entry.added!.by)).toContain('operator');
});

test('a table of due dates is refused for each thing that is wrong with it', async () => {
  const file = fileOf('table.json', { year: 2031, source: 'SUNAT', periods: { '2031-01': { '0': '2031-02-30' } } });
  const { code, stdout, stderr } = await stage.padron('calendar', 'add-table', file);
  expect([code, stdout]).toEqual([1, '']);
  expect(stderr).toMatch(new RegExp(`^error: ${file} cannot be added:\n  \\S`));
  expect(stderr.split('\n').filter((line) => line.startsWith('  ')).length).toBeGreaterThan(1);
  expect(stderr).toMatch(/Nothing is added\. Mend the file and run the command again/);
});

test('a file that cannot be read, is none of ours or is far too large is refused before it is parsed', async () => {
  const add = (file: string) => ['calendar', 'add-decree', file];
  await stage.expectRefused(add(join(stage.folder, 'missing.json')), /missing\.json cannot be read \(ENOENT\)/);
  await stage.expectRefused(add(stage.folder), /cannot be read \(EISDIR\)[\s\S]*Give the path of a JSON file/);
  await stage.expectRefused(add(fileOf('half.json', '{"decree": ')), /half\.json cannot be added:\n {2}\S/);
  await stage.expectRefused(add(fileOf('large.json', ' '.repeat(1024 * 1024 + 1))), /more than 1048576 bytes/);
  await stage.expectRefused(add(fileOf('list.json', [])), /cannot be added/);
});

const inAnotherEncoding = (text: string): [file: string, bytes: Buffer, refusal: RegExp][] => [
  ['windows-1252.json', Buffer.from(text, 'latin1'), /encoded in Windows-1252, and must be UTF-8: line 1 has the byte/],
  ['utf-16.json', Buffer.from(`\ufeff${text}`, 'utf16le'), /encoded in UTF-16, and must be UTF-8/],
  ['utf-16-big-endian.json', Buffer.from(text, 'utf16le').swap16(), /encoded in UTF-16, and must be UTF-8/],
  ['dos.json', Buffer.from(text.replaceAll('í', '¡'), 'latin1'), /neither in UTF-8 nor in Windows-1252/],
  ['archive.json', Buffer.from('PK\u0003\u0004\0\0'), /zero bytes, so it is no UTF-8 text/],
  ['lost.json', Buffer.from(text.replaceAll('í', '\ufffd')), /Line 1 has the character U\+FFFD/],
];

test('a file in another encoding is refused with the name of the encoding, and nothing of it is added', async () => {
  const before = await stage.document<Listed[]>('calendar', 'list');
  const other = JSON.stringify({ ...decree, decree: 'D.S. 998-2031-PCM' });
  for (const [name, bytes, refusal] of inAnotherEncoding(other)) {
    await stage.expectRefused(['calendar', 'add-decree', fileOf(name, bytes)], refusal);
    await stage.expectRefused(['calendar', 'add-table', join(stage.folder, name)], refusal);
  }
  expect(await stage.document<Listed[]>('calendar', 'list')).toEqual(before);
});

test('the command itself refuses a Windows-1252 file, and reads UTF-8 with a byte order mark with its accents', async () => {
  const named = JSON.stringify({ ...decree, decree: 'D.S. 997-2031-PCM' });
  const windows = fileOf('notepad.json', Buffer.from(named, 'latin1'));
  const refused = await runPadron(['calendar', 'add-decree', windows], stage.environment);
  expect([refused.code, refused.stdout]).toEqual([1, '']);
  expect(refused.stderr).toMatch(
    /notepad\.json cannot be added: It is encoded in Windows-1252[\s\S]*Save the file as UTF-8/,
  );
  const marked = fileOf('marked.json', `\ufeff${named}`);
  expect((await runPadron(['calendar', 'add-decree', marked], stage.environment)).code).toBe(0);
  const added = (await stage.document<Listed[]>('calendar', 'list')).at(-1)!;
  expect(added.value).toEqual({ ...decree, decree: 'D.S. 997-2031-PCM', completesYear: null });
});
