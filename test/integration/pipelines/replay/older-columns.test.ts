import avro from 'avsc';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { ContainerWriter } from '../../../../pipelines/changes/container-writer.ts';
import { type Change, schemaHeader, schemaText } from '../../../../pipelines/changes/record.ts';
import { servingTables } from '../../../../pipelines/consumers/materialize.ts';
import type { EditionFile, VerifyInput } from '../../../../pipelines/replay/types.ts';
import { verify } from '../../../../pipelines/replay/verify.ts';
import { KafkaChunkSender } from '../../../../pipelines/stream/kafka.ts';
import { partitionOf } from '../../../../pipelines/stream/producer/records.ts';
import { materializeGroup } from '../../../../pipelines/stream/topics.ts';
import { WriterSchemas } from '../../../../pipelines/stream/writer-schemas.ts';
import { changesTopic, type RegisterName, registers } from '../../../../schemas/registers.ts';
import {
  inventedRuc,
  makeStreamHarness,
  type StreamHarness,
  startMaterialize,
} from '../../../support/engines/stream.ts';

// A topic begins with records of a release that did not know today's last column. Today's release reads it from the
// beginning into empty tables.
const register: RegisterName = 'agentes_retencion';
/** Registry id of that release's schema. */
const earlierId = 700_001;

interface RowType {
  fields: { name: string; default?: string }[];
}
interface Schema {
  fields: { type: unknown }[];
}
type Cells = readonly string[] | null;

const today = JSON.parse(schemaText(register)) as Schema;
rowType(today).fields.at(-1)!.default = '';
const earlier = structuredClone(today);
rowType(earlier).fields.pop();

function rowType({ fields }: Schema): RowType {
  return (fields[4]!.type as [string, RowType])[1];
}

let harness: StreamHarness;
beforeAll(async () => {
  harness = await makeStreamHarness(inject('endpoints'), [register]);
});
afterAll(() => harness?.close());

function change(edition: number, schema: Schema, place: number, before: Cells, after: Cells): Change {
  const named = (cells: Cells) =>
    cells && Object.fromEntries(rowType(schema).fields.map(({ name }, column) => [name, cells[column]!]));
  const op = before === null ? (edition === 2 ? 'c' : 'r') : after === null ? 'd' : 'u';
  const [old, now, ruc] = [named(before), named(after), inventedRuc(place)];
  return {
    ...{ edition, op, seq: place, ruc, before: old, after: now, line: place + 2 },
    ...{ detectedAt: new Date(1_790_000_000_000), corrects: null },
  };
}

/** Writes an edition's change file and sends its records, as the producer does. */
async function produce(schema: Schema, schemaId: number, changes: readonly Change[]): Promise<EditionFile> {
  const { edition } = changes[0]!;
  const type = avro.Type.forSchema(schema as avro.Schema, { wrapUnions: false });
  const metadata = { 'padron.register': register, 'padron.edition': String(edition) };
  const writer = new ContainerWriter(harness.folder, `attempt-${edition}`, schema, metadata, Buffer.alloc(16, edition));
  const { defaultPartitions: partitions } = registers[register];
  const outgoing = changes.map(({ detectedAt, ...rest }) => {
    const record = type.toBuffer({ ...rest, detected_at: detectedAt.getTime() });
    writer.append(record);
    const key = Buffer.from(rest.ruc);
    const value = Buffer.concat([schemaHeader(schemaId), record]);
    return { key, value, partition: partitionOf(key, 0, key.length, partitions) };
  });
  const sender = new KafkaChunkSender(harness.kafka);
  await sender.send(changesTopic(harness.prefix, register), outgoing);
  await sender.close();
  const { path, sha256 } = writer.finish((hash) => hash);
  const baseline = changes.filter(({ op }) => op === 'r').length;
  return { edition, path, sha256, changes: changes.length, baseline };
}

async function untilMaterialised(failures: readonly Error[]): Promise<void> {
  const topic = changesTopic(harness.prefix, register);
  const ends = await harness.offsets.ends(topic);
  await expect
    .poll(
      async () => {
        if (failures[0] !== undefined) throw failures[0];
        return await harness.offsets.committed(materializeGroup(harness.prefix), topic);
      },
      { timeout: 60_000, interval: 50 },
    )
    .toEqual(ends);
}

test('rows of a release with other columns are stored as they were at first, so that they agree with the change files', async () => {
  const files = [
    await produce(
      earlier,
      earlierId,
      [0, 1, 2].map((place) => change(1, earlier, place, null, [`EMPRESA ${place}`, '2000-01-01'])),
    ),
    await produce(earlier, earlierId, [
      change(2, earlier, 0, ['EMPRESA 0', '2000-01-01'], ['UNA', '2000-01-01']),
      change(2, earlier, 1, ['EMPRESA 1', '2000-01-01'], null),
      change(2, earlier, 3, null, ['TRES', '2003-01-01']),
    ]),
  ];
  const schemas = new WriterSchemas(
    async (_, id) => (id === earlierId ? JSON.stringify(earlier) : null),
    new Map([[register, harness.ids.changes]]),
    'as_written',
    () => JSON.stringify(today),
  );
  const loop = await startMaterialize(harness, { schemas });
  const verified = async (lastFull: number) => {
    await untilMaterialised(loop.failures);
    const input: VerifyInput = {
      ...{ register, edition: files.length, clickhouseTarget: harness.environment.CLICKHOUSE_URL!, changeFiles: files },
      ...{ lastFull, publication: null, publicationNote: null },
      tables: servingTables,
    };
    return await verify(input, () => {}, new AbortController().signal);
  };
  try {
    expect(await verified(1)).toMatchObject({ equal: true, rows: 3, history: { rows: 3, missing: 0, differs: 0 } });
    // The new column causes a re-baseline in the same topic.
    files.push(
      await produce(today, harness.ids.changes, [
        change(3, today, 0, null, ['UNA', '2000-01-01', 'R.S. 2']),
        change(3, today, 2, ['EMPRESA 2', '2000-01-01', 'R.S. 1'], ['DOS', '2000-01-01', 'R.S. 1']),
        change(3, today, 3, null, ['TRES', '2003-01-01', 'R.S. 3']),
      ]),
    );
    expect(await verified(3)).toMatchObject({ equal: true, rows: 3, history: { rows: 4, missing: 0, differs: 0 } });
  } finally {
    await loop.stop();
  }
});
