import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { afterAll, expect, test } from 'vitest';
import { z } from 'zod';
import { CommandContext, CommandError } from '../../../../deploy/cli/context.ts';

const folder = mkdtempSync(join(tmpdir(), 'padron-context-'));
const endpointsFile = join(folder, 'endpoints.json');
afterAll(() => rmSync(folder, { recursive: true }));

class Sink extends Writable {
  text = '';
  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.text += chunk.toString();
    done();
  }
}

function contextOf(environment: Record<string, string> = {}, isTTY = false) {
  const stdout = Object.assign(new Sink(), { isTTY });
  const stderr = new Sink();
  return { context: new CommandContext({ environment, endpointsFile, stdout, stderr }), stdout, stderr };
}

const settings = z.object({ DATABASE_URL: z.string(), CLICKHOUSE_URL: z.string() });

function refusal(environment: Record<string, string>): CommandError {
  try {
    contextOf(environment).context.configuration(settings);
  } catch (error) {
    if (error instanceof CommandError) return error;
  }
  throw new Error('the settings were accepted');
}

test('settings come from the running stack, and the environment wins over it', () => {
  writeFileSync(endpointsFile, JSON.stringify({ DATABASE_URL: 'postgres://stack', CLICKHOUSE_URL: 'http://stack' }));
  expect(contextOf().context.configuration(settings).DATABASE_URL).toBe('postgres://stack');
  expect(contextOf({ DATABASE_URL: 'postgres://mine' }).context.configuration(settings)).toEqual({
    DATABASE_URL: 'postgres://mine',
    CLICKHOUSE_URL: 'http://stack',
  });
});

test('one error names every setting that is missing, and says where they can come from', () => {
  rmSync(endpointsFile, { force: true });
  const alone = refusal({});
  expect(alone.message).toMatch(/DATABASE_URL[\s\S]*CLICKHOUSE_URL/);
  expect(alone.advice).toContain(`No local stack runs here (no ${endpointsFile})`);
  writeFileSync(endpointsFile, JSON.stringify({ DATABASE_URL: 'postgres://stack' }));
  const half = refusal({});
  expect(half.message).toContain('CLICKHOUSE_URL');
  expect(half.message).not.toContain('DATABASE_URL');
  expect(half.advice).toContain(`missing in the environment and in ${endpointsFile}`);
});

test.each(['{ half', '[]', '{"DATABASE_URL": 1}'])('a file of endpoints that holds %s is not read', (text) => {
  writeFileSync(endpointsFile, text);
  expect(refusal({ DATABASE_URL: 'a', CLICKHOUSE_URL: 'b' })).toMatchObject({
    message: `${endpointsFile} is not readable.`,
    advice: 'Stop the local stack, run `npm start` again, then retry.',
  });
});

test('a result is lines for a person or one document; remarks never reach standard output', () => {
  const { context, stdout, stderr } = contextOf();
  context.show({}, { id: 1 }, ['Account 1 is made.', 'Next: a token']);
  context.show({ json: true }, { id: 1, name: 'Ñandú' }, 'not shown');
  context.note('half done');
  expect(stdout.text).toBe('Account 1 is made.\nNext: a token\n{"id":1,"name":"Ñandú"}\n');
  expect(stderr.text).toBe('half done\n');
});

test('rows are a line each, or a sentence where there are none; the document is a list either way', () => {
  const { context, stdout } = contextOf();
  const line = ({ id }: { id: number }) => `row ${id}`;
  context.showRows({}, [{ id: 1 }, { id: 2 }], line, 'No rows.');
  context.showRows({}, [], line, 'No rows.');
  context.showRows({ json: true }, [], line, 'No rows.');
  expect(stdout.text).toBe('row 1\nrow 2\nNo rows.\n[]\n');
});

test('what was opened last is closed first, and a pool only when it was opened', async () => {
  rmSync(endpointsFile, { force: true });
  const { context } = contextOf({ DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none' });
  const closed: string[] = [];
  context.onEnd(() => closed.push('first'));
  const pool = context.pool();
  expect(context.pool()).toBe(pool);
  context.onEnd(async () => closed.push(pool.ended ? 'after the pool' : 'before the pool'));
  await context.close();
  expect(closed).toEqual(['before the pool', 'first']);
  expect(pool.ended).toBe(true);
});

test('colours are for a terminal, and NO_COLOR turns them off', () => {
  expect(contextOf({}, true).context.colours.bold('x')).not.toBe('x');
  expect(contextOf({ NO_COLOR: '1' }, true).context.colours.bold('x')).toBe('x');
  expect(contextOf().context.colours.bold('x')).toBe('x');
});
