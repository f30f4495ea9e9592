import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { sha256OfFile } from '../../../../pipelines/archive/local-copies.ts';
import { type Delta, layoutVersion, tagOf } from '../../../../pipelines/deltas/job.ts';
import { writeDelta } from '../../../../pipelines/deltas/write.ts';
import { changesBetween, type State, writeChanges } from '../../../support/registers/change-files.ts';

const folder = mkdtempSync(join(tmpdir(), 'padron-delta-write-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

// A list of barred suppliers: a company, a person's RUC, and ids that are no RUC.
const ids = ['00000012', '10440000014', '20500000013', '2050000001', '88000000019'];
const stateOf = (day: number): State => new Map(ids.map((id) => [id, ['ruc', `[{"nombre":"${id}","dia":${day}}]`]]));
const changes = changesBetween('sancionados', stateOf(1), stateOf(2), 2);
const file = writeChanges(folder, 'sancionados', 2, changes);
const delta: Delta = {
  ...{ register: 'sancionados', edition: 2, sha256: file.sha256, changes: file.changes, fechaDato: '2026-11-22' },
  ...{ form: 'ndjson', audience: 'companies' },
};

describe('a delta file', () => {
  test('for companies has no id that may be a person', async () => {
    const path = join(folder, 'companies');
    expect(await writeDelta(delta, file.path, path)).toBe(1);
    expect(readFileSync(path, 'utf8')).toBe(
      `${JSON.stringify({
        ...{ edicion: 2, operacion: 'cambio', ruc: '20500000013', fecha_dato: '2026-11-22' },
        ...{ detectada_en: '2026-11-21T19:00:00-05:00', corrige: null },
        antes: { tipo_id: 'ruc', sanciones: '[{"nombre":"20500000013","dia":1}]' },
        despues: { tipo_id: 'ruc', sanciones: '[{"nombre":"20500000013","dia":2}]' },
      })}\n`,
    );
    expect(await writeDelta({ ...delta, audience: 'everybody' }, file.path, join(folder, 'all'))).toBe(ids.length);
  });

  // Clients go on with a range at another process, maybe of another release, when the tag is the same. If one of these
  // hashes changes (our writer or a new version of hyparquet-writer), raise `layoutVersion` in job.ts, then these.
  test.each([
    ['ndjson', '1f140b0a5a87c26ddc8a3bee61155da856005898d981939f7255cba2cb50dec6'],
    ['parquet', 'ac0ad48ec2a1d3ad12d062e6ce884046f0bebca0745b48a2bb1fb3e85327276f'],
  ] as const)('as %s has the bytes that its layout version stands for', async (form, sha256) => {
    const path = join(folder, form);
    await writeDelta({ ...delta, form, audience: 'everybody' }, file.path, path);
    expect(await sha256OfFile(path)).toBe(sha256);
    expect(layoutVersion).toBe(1);
  });

  test('has another tag when anything in it differs', () => {
    const others: Delta[] = [
      { ...delta, audience: 'everybody' },
      { ...delta, form: 'parquet' },
      { ...delta, fechaDato: '2026-11-23' },
      { ...delta, sha256: '0'.repeat(64) },
    ];
    expect(new Set([delta, ...others].map(tagOf)).size).toBe(5);
  });

  test.each([
    ['of another edition', { edition: 3 }],
    ['of another register', { register: 'inhabilitaciones_judiciales' }],
    ['with fewer changes than the catalogue counted', { changes: ids.length + 1 }],
  ] as const)('is not made from a change file %s', async (_, wrong) => {
    const made = writeDelta({ ...delta, ...wrong }, file.path, join(folder, 'wrong'));
    await expect(made).rejects.toMatchObject({ code: 'change_file_damaged' });
  });
});
