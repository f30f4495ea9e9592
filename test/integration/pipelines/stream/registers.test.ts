import avsc from 'avsc';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { type Change, schemaHeader, schemaText } from '../../../../pipelines/changes/record.ts';
import { KafkaChunkSender } from '../../../../pipelines/stream/kafka.ts';
import { replayEdition } from '../../../../pipelines/stream/produce.ts';
import { checkMaterialised } from '../../../../pipelines/stream/progress.ts';
import { changesOutput } from '../../../../pipelines/stream/topics.ts';
import { changesTopic, type RegisterName } from '../../../../schemas/registers.ts';
import { stateKeyOf } from '../../../../schemas/ruc.ts';
import {
  freezeTestEdition,
  inventedRuc,
  makeStreamHarness,
  produceDependencies,
  produceTestEdition,
  type StreamHarness,
  startMaterialize,
} from '../../../support/engines/stream.ts';
import { encodeChange } from '../../../support/registers/change-records.ts';

// One loop reads a register of suppliers and one of taxpayers.
const suppliers = 'sancionados';
const agents = 'agentes_retencion';
let harness: StreamHarness;
let loop: Awaited<ReturnType<typeof startMaterialize>>;
beforeAll(async () => {
  harness = await makeStreamHarness(inject('endpoints'), [suppliers, agents]);
  loop = await startMaterialize(harness);
});
afterAll(async () => {
  await loop.stop();
  await harness.close();
});

const at = new Date('2026-11-20T08:00:00Z');
const made = (edition: number, seq: number, parts: Partial<Change>): Change => ({
  edition,
  op: 'r',
  seq,
  ruc: '',
  before: null,
  after: null,
  line: seq + 2,
  detectedAt: at,
  corrects: null,
  ...parts,
});

// A supplier with hundreds of sanctions has a record of 60 kB, and 200 of them exceed the broker's largest batch.
const long = JSON.stringify(
  Array.from({ length: 600 }, (_, index) => ({
    resolucion: `N° "${index}"`,
    motivos: ['214', '215'],
    motivo: 'x'.repeat(40),
  })),
);
const ids = [
  ...Array.from({ length: 200 }, (_, index) => inventedRuc(index)),
  ...['07654321', '00000012345', '99000012345', 'AB-901/7', 'ÑANDÚ 7'],
].sort((one, other) => Buffer.compare(Buffer.from(one), Buffer.from(other)));
const bar = (sanciones = long) => ({ tipo_id: 'ruc', sanciones });

async function produce(register: RegisterName, edition: number, changes: readonly Change[]): Promise<string> {
  const file = await freezeTestEdition(harness, edition, changes, register);
  await produceTestEdition(harness, edition, file, register);
  await expect.poll(() => checkMaterialised(harness, register, edition), { timeout: 60_000 }).toBe('materialised');
  return file;
}

async function readRows<Row>(query: string): Promise<Row[]> {
  const result = await harness.clickhouse.query({ query, format: 'JSONEachRow' });
  return result.json<Row>();
}

const standing = () =>
  readRows<{ key: string; id: string | null; sanciones: string; version: number }>(
    `SELECT toString(state_key) AS key, id, sanciones, toUInt32(version) AS version FROM sancionados_current ORDER BY state_key`,
  );

test('suppliers go from change file to state and history under keys of any length, however long their rows', async () => {
  await produce(
    suppliers,
    1,
    ids.map((ruc, seq) => made(1, seq, { ruc, after: bar() })),
  );
  const second = [
    made(2, 0, { ruc: '07654321', op: 'd', before: bar(), after: null, line: null }),
    made(2, 1, { ruc: 'AB-901/7', op: 'u', before: bar(), after: bar('[]') }),
  ];
  await produce(suppliers, 2, second);
  const expected = ids
    .filter((id) => id !== '07654321')
    .map((id) => ({
      key: String(stateKeyOf(id)),
      id: /^[0-9]{11}$/.test(id) ? id : null,
      sanciones: id === 'AB-901/7' ? '[]' : long,
      version: id === 'AB-901/7' ? 2 : 1,
    }))
    .sort((one, other) => Number(one.key) - Number(other.key));
  expect(await standing()).toEqual(expected);
  expect(await readRows('SELECT toString(ruc) AS key, op FROM register_change WHERE register = 5 ORDER BY op')).toEqual(
    [
      { key: String(stateKeyOf('AB-901/7')), op: 'u' },
      { key: String(stateKeyOf('07654321')), op: 'd' },
    ],
  );
});

test('a correction is materialised like any edition, and the history names the edition that it corrects', async () => {
  const undo = [
    made(3, 0, { ruc: '07654321', op: 'c', after: bar(), corrects: 2 }),
    made(3, 1, { ruc: 'AB-901/7', op: 'u', before: bar('[]'), after: bar(), corrects: 2 }),
  ];
  await produce(suppliers, 3, undo);
  const found = await standing();
  expect(found).toHaveLength(ids.length);
  expect(found.every(({ sanciones }) => sanciones === long)).toBe(true);
  expect(
    await readRows(`SELECT op, toUInt32(corrects) AS corrects FROM register_change
      WHERE register = 5 AND edition = 3 ORDER BY op`),
  ).toEqual([
    { op: 'c', corrects: 2 },
    { op: 'u', corrects: 2 },
  ]);
});

test('an edition can be replayed, with a header on each record, and the state stays as it was', async () => {
  const { rows } = await harness.pool.query(
    'SELECT change_file_sha256 AS sha256 FROM edition WHERE register = $1 AND number = 2',
    [suppliers],
  );
  const input = { register: suppliers, edition: 2, changeFile: `${harness.folder}/${rows[0].sha256}.avro` } as const;
  const replay = () => replayEdition(produceDependencies(harness), input, () => {}, new AbortController().signal);
  await harness.pool.query('UPDATE edition SET avisada_at = now() WHERE number = 2');
  const before = await standing();
  const topic = changesTopic(harness.prefix, suppliers);
  const [end] = await harness.offsets.ends(topic);
  expect((await replay()).rows).toBe(2);
  await expect
    .poll(() => harness.offsets.committed(`${harness.prefix}padron.materialize`, topic), { timeout: 60_000 })
    .toEqual([end! + 2]);
  expect(await standing()).toEqual(before);
  expect(await headersFrom(topic, end!)).toEqual(['07654321 2', 'AB-901/7 2']);
});

/** The key and the header `replay` of each record from an offset on. */
async function headersFrom(topic: string, offset: number): Promise<string[]> {
  const consumer = harness.kafka.consumer({ groupId: `${harness.prefix}headers` });
  const found: string[] = [];
  await consumer.connect();
  await consumer.subscribe({ topic, fromBeginning: true });
  await consumer.run({
    eachMessage: async ({ message }) => {
      if (Number(message.offset) >= offset) found.push(`${message.key} ${message.headers?.replay}`);
    },
  });
  consumer.seek({ topic, partition: 0, offset: String(offset) });
  await expect.poll(() => found.length, { timeout: 30_000 }).toBe(2);
  await consumer.disconnect();
  return found;
}

test('a record of an earlier release is read like one of today, and one of another register stops its partition', async () => {
  const earlier = JSON.parse(schemaText(agents));
  earlier.fields = earlier.fields.filter(({ name }: { name: string }) => name !== 'corrects');
  const output = changesOutput(harness.prefix, agents);
  const earlierId = await harness.registry.register(output.subject, JSON.stringify(earlier));
  const after = { nombre: 'EMPRESA "Ñ"', desde: '2026-01-01', resolucion: 'R.S. 1' };
  const [one, other] = [inventedRuc(1), inventedRuc(2)];
  const { detectedAt, ...change } = made(1, 0, { ruc: one, after });
  const asWritten = avsc.Type.forSchema(earlier, { wrapUnions: false }).toBuffer({
    ...change,
    detected_at: detectedAt.getTime(),
  });
  const today = await harness.registry.idOf(output.subject, schemaText(agents));
  const foreign = await harness.registry.idOf(changesOutput(harness.prefix, suppliers).subject, schemaText(suppliers));
  const sender = new KafkaChunkSender(harness.kafka);
  await sender.send(
    output.topic,
    [
      [one, Buffer.concat([schemaHeader(earlierId), asWritten])] as const,
      [other, encodeChange(made(1, 1, { ruc: other, after }), today, agents)] as const,
      [other, encodeChange(made(1, 2, { ruc: other, after: bar() }), foreign, suppliers)] as const,
    ].map(([ruc, value]) => ({ key: Buffer.from(ruc), value, partition: 0 })),
  );
  await sender.close();
  await expect.poll(() => loop.stoppedPartitions(), { timeout: 60_000 }).toEqual([`${output.topic}/0`]);
  const found = await readRows(
    'SELECT toString(ruc) AS ruc, nombre, desde FROM agentes_retencion_current ORDER BY ruc',
  );
  const { nombre, desde } = after;
  expect(found).toEqual([one, other].map((ruc) => ({ ruc, nombre, desde })));
  expect(loop.failures).toEqual([]);
});
