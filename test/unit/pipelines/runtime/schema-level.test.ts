import { readdirSync } from 'node:fs';
import { expect, it } from 'vitest';
import type { ClickHouseClient } from '../../../../pipelines/runtime/clickhouse.ts';
import { SchemaLevel } from '../../../../pipelines/runtime/migrations/level.ts';

const files = readdirSync(new URL('../../../../schemas/clickhouse', import.meta.url)).filter((name) =>
  name.endsWith('.sql'),
);

/** A store that fails with these codes, one a question, and then has all migrations. */
function storeThatFails(...codes: string[]): ClickHouseClient {
  const query = async () => {
    const code = codes.shift();
    if (code !== undefined) throw Object.assign(new Error(`connect ${code}`), { code });
    return { json: async () => files.map((name) => ({ name })) };
  };
  return { query } as unknown as ClickHouseClient;
}

it('a process that starts while ClickHouse is away waits for it, and says so once', async () => {
  const noted: string[] = [];
  await new SchemaLevel(null, storeThatFails('ECONNREFUSED', 'ECONNREFUSED')).reached((text) => noted.push(text));
  expect(noted).toEqual(['a store does not answer: connect ECONNREFUSED']);
});

it('a store that refuses the question ends the wait', async () => {
  const level = new SchemaLevel(null, storeThatFails('497'));
  await expect(level.reached(() => {})).rejects.toMatchObject({ code: '497' });
});
