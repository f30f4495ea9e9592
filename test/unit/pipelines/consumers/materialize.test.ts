import { Registry } from 'prom-client';
import { expect, test } from 'vitest';
import type { ChangeBatch, ChangeMessage } from '../../../../pipelines/consumers/batch.ts';
import { makeMaterializeHandler } from '../../../../pipelines/consumers/materialize.ts';
import type { ClickHouseClient } from '../../../../pipelines/runtime/clickhouse.ts';

test('between the rows of two batches that begin together, timers and answers get their turn', async () => {
  const seen: string[] = [];
  // No batch has a row, so nothing is inserted and the client is never called.
  const handle = makeMaterializeHandler({} as ClickHouseClient, new Registry());
  const batch = (partition: number) => {
    const messages: ChangeMessage[] = [];
    const noted = Object.assign(messages, {
      [Symbol.iterator]: () => {
        seen.push(`batch ${partition}`);
        return [].values();
      },
    });
    return { register: 'sancionados', partition, messages: noted } as unknown as ChangeBatch;
  };
  let isDone = false;
  const round = () => {
    if (seen.at(-1) !== 'round') seen.push('round');
    if (!isDone) setImmediate(round);
  };
  setImmediate(round);
  await Promise.all([1, 2, 3].map((partition) => handle(batch(partition))));
  isDone = true;
  expect(seen.filter((one) => one !== 'round')).toEqual(['batch 1', 'batch 2', 'batch 3']);
  expect(seen.join()).toContain('batch 1,round,batch 2,round,batch 3');
});
