import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import avro from 'avsc';
import { expect, test } from 'vitest';
import { ContainerWriter } from '../../../../pipelines/changes/container-writer.ts';
import { schemaText } from '../../../../pipelines/changes/record.ts';
import { TaxpayerRows } from '../../../../pipelines/consumers/taxpayer-rows.ts';
import { ChangeRecords } from '../../../../pipelines/replay/change-records.ts';
import { RowBinaryReader } from '../consumers/row-binary-reader.ts';

test('a change file of a release with fewer columns is read and loaded with its own columns', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'padron-older-'));
  try {
    const schema = JSON.parse(schemaText('agentes_retencion'));
    schema.fields.find(({ name }: { name: string }) => name === 'before').type[1].fields.pop();
    const metadata = { 'padron.register': 'agentes_retencion', 'padron.edition': '1' };
    const writer = new ContainerWriter(folder, 'attempt', schema, metadata, Buffer.alloc(16, 1));
    const after = { nombre: 'EMPRESA', desde: '2020-01-01' };
    const change = { edition: 1, op: 'c', seq: 0, ruc: '20500000013', before: null, after, line: 2, corrects: null };
    writer.append(avro.Type.forSchema(schema, { wrapUnions: false }).toBuffer({ ...change, detected_at: 5 }));
    const { path, sha256 } = writer.finish((hash) => hash);
    const records = await ChangeRecords.open(
      { edition: 1, path, sha256, changes: 1, baseline: 0 },
      'agentes_retencion',
    );
    expect([await records.nextBlock(), records.step(), records.step()]).toEqual([true, true, false]);
    expect(records).toMatchObject({ columns: ['nombre', 'desde'], stateKey: 20_500_000_013, detectedAt: 5 });
    const rows = new TaxpayerRows();
    const value = Buffer.concat([Buffer.alloc(5), records.bytes]);
    rows.fill('agentes_retencion', [{ offset: '0', value, columns: records.columns.length }]);
    const state = new RowBinaryReader(rows.state.written());
    expect([state.uint64(), state.uint8(), state.uint64(), state.uint8()]).toEqual([20_500_000_013, 3, 1, 0]);
    expect(state.string()).toBe('["EMPRESA","2020-01-01"]');
    await records.close();
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
