import { expect, test } from 'vitest';
import { fedReplicaOf } from '../../../../pipelines/consumers/replica.ts';
import { replicasOf } from '../../../../pipelines/runtime/clickhouse.ts';
import { clickhouseBlock, parseConfiguration } from '../../../../pipelines/runtime/config.ts';
import { materializeGroup } from '../../../../pipelines/stream/topics.ts';

const read = (environment: Record<string, string>) => parseConfiguration(clickhouseBlock, environment);
const two = { CLICKHOUSE_REPLICAS: 'default=http://one:8123/padron,b=https://u:p%2Cw=@two/padron' };

test('without new settings there is one server with the consumer group that it always had', () => {
  const config = read({ CLICKHOUSE_URL: 'http://one:8123/padron' });
  expect(replicasOf(config)).toMatchObject([{ name: 'default', target: { url: 'http://one:8123/padron' } }]);
  expect(materializeGroup('p.', fedReplicaOf(config))).toBe('p.padron.materialize');
});

test('each replica has a name, an address and a group; CLICKHOUSE_URL follows the one that a process feeds', () => {
  const config = read({ ...two, CLICKHOUSE_REPLICA: 'b' });
  expect(replicasOf(config).map(({ name }) => name)).toEqual(['default', 'b']);
  expect(config.CLICKHOUSE_URL).toBe('https://u:p%2Cw=@two/padron');
  expect(materializeGroup('p.', fedReplicaOf(config))).toBe('p.padron.materialize-b');
  expect(read(two).CLICKHOUSE_URL).toBe('http://one:8123/padron');
});

test('a list that cannot be right is refused without its addresses, which may hold passwords', () => {
  for (const list of [
    'http://one',
    'a=http://x:secret@one,a=http://two',
    'A=http://one',
    'a=ftp://one',
    'a=',
    '=http://one',
  ])
    expect(() => read({ CLICKHOUSE_REPLICAS: list })).toThrow(/CLICKHOUSE_REPLICAS: name=url(?!.*secret)/s);
});

test('a consumers process must say which replica it feeds', () => {
  expect(() => fedReplicaOf(read(two))).toThrow('CLICKHOUSE_REPLICA: must name');
  expect(() => fedReplicaOf(read({ ...two, CLICKHOUSE_REPLICA: 'c' }))).toThrow('default, b');
  const alone = { CLICKHOUSE_URL: 'http://one', CLICKHOUSE_REPLICA: 'b' };
  expect(() => fedReplicaOf(read(alone))).toThrow('CLICKHOUSE_REPLICA: must name');
});
