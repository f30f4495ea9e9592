import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Writable } from 'node:stream';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { writeOutputFile } from '../../../../pipelines/replay/output-file.ts';

let folder: string;
let path: string;
let notes: string[];
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'padron-output-')));
  path = join(folder, 'changes.nd');
  notes = [];
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

// A machine that stands still for a while must not make a living run look dead.
const limits = { touchEveryMs: 20, leftAfterMs: 60_000 };
const write = (to: string, text: string, during: () => Promise<void> | void = () => {}, leftAfterMs = 60_000) =>
  writeOutputFile(
    to,
    async (out: Writable) => {
      out.write(text);
      await during();
    },
    (note) => notes.push(note),
    { ...limits, leftAfterMs },
  );
const modeOf = (file: string) => (statSync(file).mode & 0o777).toString(8);
const names = () => readdirSync(folder).sort();

/** A promise with the function that resolves it. */
function gate(): { opened: Promise<void>; open: () => void } {
  let open: () => void = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}

describe('the mode', () => {
  test('of a new file and of its partial file lets its owner alone read it', async () => {
    await write(path, 'one', () => expect(modeOf(`${path}.partial`)).toBe('600'));
    expect([modeOf(path), readFileSync(path, 'utf8'), names()]).toEqual(['600', 'one', ['changes.nd']]);
  });

  test.each(['600', '640', '644', '664', '400'])(
    '%s of a file that is replaced is kept, its partial too',
    async (mode) => {
      writeFileSync(path, 'old');
      chmodSync(path, mode);
      await write(path, 'new', () => expect(modeOf(`${path}.partial`)).toBe(mode));
      expect([modeOf(path), readFileSync(path, 'utf8')]).toEqual([mode, 'new']);
    },
  );

  test.runIf(process.getuid?.() === 0)('goes with the owner and the group, which are kept too', async () => {
    writeFileSync(path, 'old');
    chownSync(path, 12_345, 54_321);
    chmodSync(path, 0o640);
    await write(path, 'new');
    const { uid, gid } = statSync(path);
    expect([uid, gid, modeOf(path)]).toEqual([12_345, 54_321, '640']);
  });
});

describe('a link', () => {
  test('is followed to its target, over other links and from another folder', async () => {
    mkdirSync(join(folder, 'data'));
    const target = join(folder, 'data', 'target.nd');
    writeFileSync(target, 'old');
    symlinkSync('data/target.nd', join(folder, 'inner'));
    symlinkSync(join(folder, 'inner'), path);
    await write(path, 'new', () => expect(existsSync(`${target}.partial`)).toBe(true));
    expect([readFileSync(target, 'utf8'), readlinkSync(path)]).toEqual(['new', join(folder, 'inner')]);
    expect(lstatSync(join(folder, 'inner')).isSymbolicLink()).toBe(true);
  });

  test('to a file that is not there yet makes this file', async () => {
    mkdirSync(join(folder, 'data'));
    symlinkSync('data', join(folder, 'short'));
    symlinkSync('../changes.nd', join(folder, 'data', 'back'));
    symlinkSync('short/back', join(folder, 'link'));
    await write(join(folder, 'link'), 'new');
    expect([readFileSync(path, 'utf8'), lstatSync(join(folder, 'link')).isSymbolicLink()]).toEqual(['new', true]);
  });

  test('in the place of the partial file is not written through', async () => {
    const other = join(folder, 'other');
    writeFileSync(other, 'precious');
    symlinkSync(other, `${path}.partial`);
    await write(path, 'new', undefined, 100);
    expect([readFileSync(other, 'utf8'), readFileSync(path, 'utf8')]).toEqual(['precious', 'new']);
  });

  test('in a circle, or into a folder that is missing, is refused', async () => {
    symlinkSync('two', join(folder, 'one'));
    symlinkSync('one', join(folder, 'two'));
    await expect(write(join(folder, 'one'), 'new')).rejects.toThrow('ELOOP');
    await expect(write(join(folder, 'missing', 'file'), 'new')).rejects.toThrow('ENOENT');
    expect(names()).toEqual(['one', 'two']);
  });
});

describe('an export that fails', () => {
  test('keeps the earlier file and leaves no partial one', async () => {
    writeFileSync(path, 'old');
    const broken = write(path, 'half', () => Promise.reject(new Error('the archive went away')));
    await expect(broken).rejects.toThrow('the archive went away');
    expect([names(), readFileSync(path, 'utf8')]).toEqual([['changes.nd'], 'old']);
  });

  test('because its stream was destroyed by somebody else is reported', async () => {
    const destroyed = writeOutputFile(
      path,
      async (out) => void out.destroy(new Error('EIO')),
      () => {},
      limits,
    );
    await expect(destroyed).rejects.toThrow('EIO');
    expect(names()).toEqual([]);
  });
});

describe('two runs at one file', () => {
  test('the later one is refused while the first one writes, also under the name of a link', async () => {
    symlinkSync('changes.nd', join(folder, 'link'));
    const first = gate();
    const running = write(path, 'first', () => first.opened);
    await expect.poll(() => existsSync(`${path}.partial`)).toBe(true);
    const refused = { code: 'output_in_use', message: `another run writes ${path}.partial` };
    await expect(write(path, 'second')).rejects.toMatchObject(refused);
    await expect(write(join(folder, 'link'), 'third')).rejects.toMatchObject(refused);
    first.open();
    await running;
    expect([readFileSync(path, 'utf8'), names()]).toEqual(['first', ['changes.nd', 'link']]);
    expect(notes[0]).toMatch(/changes\.nd\.partial is there: waiting up to 60 s/);
  });

  test('of ten at once exactly one writes', async () => {
    const first = gate();
    const runs = Array.from({ length: 10 }, (_, number) => write(path, `run ${number}`, () => first.opened));
    let refused = 0;
    for (const one of runs) one.catch(() => (refused += 1));
    await expect.poll(() => refused).toBe(9);
    first.open();
    const done = (await Promise.allSettled(runs)).flatMap(({ status }, number) =>
      status === 'fulfilled' ? [number] : [],
    );
    expect(done).toHaveLength(1);
    expect([readFileSync(path, 'utf8'), names()]).toEqual([`run ${done[0]}`, ['changes.nd']]);
  });

  test('what a run that died has left is replaced, and nothing of it stays', async () => {
    writeFileSync(`${path}.partial`, 'half of an earlier export');
    const longAgo = new Date('2026-01-01');
    utimesSync(`${path}.partial`, longAgo, longAgo);
    await write(path, 'new', undefined, 100);
    expect([readFileSync(path, 'utf8'), names()]).toEqual(['new', ['changes.nd']]);
  });

  test('a run that stood still and lost its name writes nothing, and removes nothing of the other run', async () => {
    const stillRunning = write(path, 'late', () => {
      // What the other run does after it has waited.
      unlinkSync(`${path}.partial`);
      writeFileSync(`${path}.partial`, 'the other run');
    });
    await expect(stillRunning).rejects.toMatchObject({ code: 'output_in_use' });
    expect([names(), readFileSync(`${path}.partial`, 'utf8')]).toEqual([['changes.nd.partial'], 'the other run']);
  });
});
