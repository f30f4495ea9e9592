import { Registry } from 'prom-client';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { beginReplica, guardStore } from '../../../../pipelines/consumers/replica.ts';
import { recordMaterialised } from '../../../../pipelines/editions/editions.ts';
import { servedEditionsAndHolders } from '../../../../pipelines/editions/served.ts';
import {
  type Replica,
  readReplicas,
  replicasThatMayAnswer,
  syncReplicas,
} from '../../../../pipelines/replicas/catalogue.ts';
import { Holding } from '../../../../pipelines/replicas/holding.ts';
import { takeRebuilt } from '../../../../pipelines/replicas/rebuilt.ts';
import { type ClickHouseClient, makeClickhouse } from '../../../../pipelines/runtime/clickhouse.ts';
import { migrateClickhouse } from '../../../../pipelines/runtime/migrate.ts';
import { materializeGroup } from '../../../../pipelines/stream/topics.ts';
import { changesTopic, registerNames } from '../../../../schemas/registers.ts';
import { startReplicaRounds } from '../../../../workflows/replicas.ts';
import { type FreshClickhouseDatabase, freshClickhouseDatabase } from '../../../support/engines/isolation.ts';
import {
  baseline,
  freezeTestEdition,
  makeStreamHarness,
  nextDay,
  produceTestEdition,
  type StreamHarness,
  startMaterialize,
} from '../../../support/engines/stream.ts';

// Two replicas: two databases on the suite's ClickHouse server, each fed by a group of its own. The tests build on each
// other, as the life of an installation does.

const register = 'padron_reducido';
let harness: StreamHarness;
let second: FreshClickhouseDatabase;
const clients: Record<string, ClickHouseClient> = {};
const loops: Record<string, Awaited<ReturnType<typeof startMaterialize>>> = {};
const first = baseline(500);

beforeAll(async () => {
  harness = await makeStreamHarness(inject('endpoints'), registerNames);
  second = await freshClickhouseDatabase(inject('endpoints'));
  await migrateClickhouse(second.CLICKHOUSE_URL);
  clients.a = harness.clickhouse;
  clients.b = makeClickhouse(second.CLICKHOUSE_URL, 'test', { requestTimeoutMs: 60_000, connections: 4 });
  await syncReplicas(harness.pool, ['a', 'b']);
});

afterAll(async () => {
  for (const loop of Object.values(loops)) await loop.stop();
  await clients.b?.close();
  await second?.drop();
  await harness?.close();
});

function holdingOf(waitMs: number): Holding {
  const { pool, offsets, prefix, log, environment } = harness;
  const urls: Record<string, string> = { a: environment.CLICKHOUSE_URL!, b: second.CLICKHOUSE_URL };
  const replicas = ['a', 'b'].map((name) => ({ name, target: urls[name]!, clickhouse: clients[name]! }));
  return new Holding({ pool, offsets, prefix, replicas, log, limits: { waitMs, silentMs: 10_000, answerMs: 10_000 } });
}

/** Starts a consumers process's work for one replica. */
async function feed(name: string): Promise<void> {
  const { pool, kafka, prefix, log } = harness;
  const clickhouse = clients[name]!;
  const store = await beginReplica({ pool, kafka, clickhouse, prefix, name, log }, () => {});
  loops[name] = await startMaterialize(harness, {
    replica: { name, clickhouse },
    around: (handle) => guardStore(handle, clickhouse, store),
  });
}

async function stopFeeding(name: string): Promise<void> {
  await loops[name]!.stop();
  delete loops[name];
}

async function stateOf(name: string): Promise<Replica> {
  return (await readReplicas(harness.pool)).find((replica) => replica.name === name)!;
}

async function holders(): Promise<string[]> {
  return [...(await servedEditionsAndHolders(harness.pool)).holders.keys()].sort();
}

/** Lets the worker look at the replicas until the API may ask all of these. */
async function untilServing(holding: Holding, ...names: string[]): Promise<void> {
  const look = async () => {
    await holding.round();
    const rows = await readReplicas(harness.pool);
    return rows.filter(({ state }) => state === 'serving').map(({ name }) => name);
  };
  await expect.poll(look, { timeout: 60_000 }).toEqual(names);
}

/** Polls as the worker's step does, and then records the edition as it does. */
async function materialise(holding: Holding, edition: number): Promise<void> {
  await expect.poll(() => holding.isMaterialised(register, edition), { timeout: 60_000 }).toBe(true);
  await recordMaterialised(harness.pool, register, edition);
}

async function publish(edition: number, changes: ReturnType<typeof baseline>): Promise<void> {
  await produceTestEdition(harness, edition, await freezeTestEdition(harness, edition, changes));
}

it('an edition that one replica lacks is served without it after the limit, and the replica joins by itself', async () => {
  await feed('a');
  await untilServing(holdingOf(0), 'a');
  await feed('b');
  const patient = holdingOf(600_000);
  await untilServing(patient, 'a', 'b');
  await stopFeeding('b');

  await publish(1, first);
  const look = async () => {
    await patient.isMaterialised(register, 1);
    return await holders1();
  };
  await expect.poll(look, { timeout: 60_000 }).toEqual(['a']);
  expect(await patient.isMaterialised(register, 1)).toBe(false);
  expect((await stateOf('b')).state).toBe('serving');
  await materialise(holdingOf(0), 1);
  expect(await stateOf('b')).toMatchObject({ state: 'stopped', reason: `it lacks edition 1 of ${register}` });
  expect(await holders()).toEqual(['a']);
  expect(await measured()).toEqual([
    'serving{replica="a"} 1',
    'serving{replica="b"} 0',
    'behind_editions{replica="a"} 0',
    'behind_editions{replica="b"} 1',
  ]);
  // An API process that cannot reach PostgreSQL may ask it for a minute longer, so notices wait for it.
  expect(await replicasThatMayAnswer(harness.pool)).toEqual(['a', 'b', 'default']);

  await feed('b');
  await untilServing(holdingOf(0), 'a', 'b');
  expect(await holders()).toEqual(['a', 'b']);
});

/** What the worker's metrics say of the replicas. */
async function measured(): Promise<string[]> {
  const registry = new Registry();
  const { pool, log } = harness;
  const stop = startReplicaRounds(holdingOf(0), pool, registry, log);
  const text = await registry.metrics();
  await stop();
  return [...text.matchAll(/^padron_replica_(.*"[ab]".*)$/gm)].map(([, line]) => line!);
}

/** The replicas that hold edition 1, served or not. */
async function holders1(): Promise<string[]> {
  const { rows } = await harness.pool.query<{ replica: string }>('SELECT replica FROM replica_edition ORDER BY 1');
  return rows.map(({ replica }) => replica);
}

it('an edition that every replica holds is served at once', async () => {
  await publish(2, nextDay(first, 2));
  await materialise(holdingOf(600_000), 2);
  expect(await holders()).toEqual(['a', 'b']);
});

it('a replica whose disk was replaced is left at once, and its consumers read every topic again', async () => {
  const holding = holdingOf(0);
  await stopFeeding('b');
  await clients.b!.command({ query: `DROP DATABASE ${second.database}` });
  await migrateClickhouse(second.CLICKHOUSE_URL);
  await holding.round();
  expect((await stateOf('b')).state).toBe('stopped');
  // Nothing was lost in Kafka: the group of the lost store had read everything, and the new store would stay empty.
  const committed = () =>
    harness.offsets.committed(materializeGroup(harness.prefix, 'b'), changesTopic(harness.prefix, register));
  expect((await committed()).some((offset) => offset > 0)).toBe(true);
  await feed('b');
  await untilServing(holding, 'a', 'b');
  const count = async (name: string) => {
    const result = await clients[name]!.query({ query: 'SELECT count() FROM taxpayer FINAL', format: 'JSONCompact' });
    return (await result.json()).data;
  };
  expect(await count('b')).toEqual(await count('a'));
});

it('consumers that find another store than they began with stop before they commit', async () => {
  const handle = guardStore(async () => {}, clients.b!, 'another');
  await expect(handle({} as never)).rejects.toMatchObject({ code: 'store_changed', retryable: false });
});

it('a replica that was rebuilt goes on after the rebuilt editions', async () => {
  await stopFeeding('b');
  const { pool, kafka, offsets, prefix } = harness;
  await pool.query(`UPDATE clickhouse_replica SET store = 'of another disk' WHERE name = 'b'`);
  await takeRebuilt({ pool, kafka, offsets, prefix, name: 'b', clickhouse: clients.b! }, [{ register, edition: 2 }]);
  const begun: number[] = [];
  const clickhouse = clients.b!;
  loops.b = await startMaterialize(harness, {
    replica: { name: 'b', clickhouse },
    around: (handle) => async (batch) => {
      begun.push(batch.messages.length);
      await handle(batch);
    },
  });
  await untilServing(holdingOf(0), 'a', 'b');
  expect(begun).toEqual([]);
});

it('a replica that the operator takes out is not asked, and one that comes back is read anew', async () => {
  expect(await syncReplicas(harness.pool, ['a'])).toEqual({ added: [], removed: ['b'] });
  expect(await holders()).toEqual(['a']);
  expect(await replicasThatMayAnswer(harness.pool)).toContain('b');
  expect(await syncReplicas(harness.pool, ['a', 'b'])).toEqual({ added: ['b'], removed: [] });
  expect(await stateOf('b')).toMatchObject({ state: 'stopped', store: null });
});
