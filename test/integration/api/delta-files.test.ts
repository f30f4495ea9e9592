import { truncateSync, writeFileSync } from 'node:fs';
import { chmod, mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { DuckDBInstance } from '@duckdb/node-api';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { makeClient } from '../../../api/client/client.ts';
import { DeltaFiles, defaultDeltaLimits } from '../../../pipelines/deltas/files.ts';
import type { Delta } from '../../../pipelines/deltas/job.ts';
import { makeLogger } from '../../../pipelines/runtime/log.ts';
import { type EditionChange, editionChange, editionsAnswer } from '../../../schemas/http/editions.ts';
import { limaTime } from '../../../schemas/lima-time.ts';
import { isCompany } from '../../../schemas/ruc.ts';
import { DeltaScene } from '../../support/api/delta-scene.ts';
import { expectProblem, makeCaller, type TestCaller } from '../../support/api/process.ts';
import { startObjectStore } from '../../support/engines/object-store.ts';
import { makeTestArchive } from '../../support/registers/archived-editions.ts';

const register = 'padron_reducido';
const parquet = 'application/vnd.apache.parquet';
const ndjson = 'application/x-ndjson';
let scene: DeltaScene;
let enterprise: TestCaller;
let contracted: TestCaller;

beforeAll(async () => {
  scene = await DeltaScene.start();
  ({ enterprise, contracted } = scene);
});
afterAll(() => scene?.stop());

const addressOf = (edition: number | string) => `/id/v1/ediciones/${register}/${edition}/cambios`;
const get = (edition: number, headers: Record<string, string> = {}, by = enterprise) =>
  by.request(addressOf(edition), { headers });
async function bytesOf(response: Response): Promise<Buffer> {
  const bytes = Buffer.from(await response.arrayBuffer());
  expect(response.status, bytes.toString('utf8', 0, 300)).toBeLessThan(300);
  return bytes;
}
const linesIn = (bytes: Buffer) =>
  bytes
    .toString()
    .split('\n')
    .slice(0, -1)
    .map((line) => editionChange.parse(JSON.parse(line)));

describe('the list', () => {
  test('has served editions, newest first, in pages, with what identifies their files', async () => {
    const ask = async (query: string) => {
      const response = await enterprise.request(`/id/v1/ediciones?registro=${register}&${query}`);
      return editionsAnswer.parse(await response.json());
    };
    const first = await ask('limite=3');
    expect(first.data.map(({ numero }) => numero)).toEqual([4, 3, 2]);
    expect(first.data[0]).toMatchObject({
      ...{
        registro: register,
        fecha_dato: '2026-11-24',
        lineas: scene.files[3]!.changes,
        cambios_sha256: scene.files[3]!.sha256,
      },
      ...{ sha256: 'ab'.repeat(32), corrige: null, enlaces: { cambios: addressOf(4) } },
    });
    const second = await ask(`limite=3&cursor=${first.meta.cursor}`);
    expect([second.data.map(({ numero }) => numero), second.meta.cursor]).toEqual([[1], null]);
    const dated = await ask('desde=2026-11-22&hasta=2026-11-23');
    expect(dated.data.map(({ numero }) => numero)).toEqual([3, 2]);
    const empty = await enterprise.request('/id/v1/ediciones?registro=sancionados');
    expect(editionsAnswer.parse(await empty.json())).toMatchObject({ data: [], meta: { fecha_dato: null } });
  });
});

describe('the file', () => {
  test('has the true changes: companies alone without a contract, everybody with one, and that is audited', async () => {
    for (const edition of [1, 2, 4]) {
      const [own, all] = [await bytesOf(await get(edition)), await bytesOf(await get(edition, {}, contracted))];
      expect(linesIn(own)).toEqual(scene.expected(edition, isCompany));
      expect(linesIn(all)).toEqual(scene.expected(edition, () => true));
      expect(own.includes('PERSONA')).toBe(false);
      expect(all.includes('PERSONA')).toBe(true);
    }
    const { rows } = await scene.around.pool.query(
      'SELECT account_id, contract_reference, ruc_hmac, register, edition, route FROM natural_person_audit ORDER BY id',
    );
    const audited = { account_id: contracted.accountId, contract_reference: 'CTD-1', ruc_hmac: null, register };
    expect(rows).toEqual(
      [1, 2, 4].map((edition) => ({ ...audited, edition, route: '/id/v1/ediciones/:registro/:numero/cambios' })),
    );
    expect(scene.around.api.output()).not.toMatch(/PERSONA|\b1[0567]99\d{7}\b/);
  });

  test('as Parquet, read by DuckDB, equals the lines', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'padron-delta-'));
    const connection = await (await DuckDBInstance.create()).connect();
    try {
      for (const [edition, by] of [
        [1, contracted],
        [2, enterprise],
      ] as const) {
        const path = join(folder, `${edition}.parquet`);
        writeFileSync(path, await bytesOf(await get(edition, { accept: parquet }, by)));
        const result = await connection.runAndReadAll(
          `SELECT edicion, operacion, ruc, fecha_dato, epoch_ms(detectada_en) AS detectada_en, corrige, antes_nombre, antes_estado, antes_kilometro,
             despues_nombre, despues_estado, despues_kilometro FROM '${path}'`,
        );
        const shown = result.getRowObjectsJson().map((row) => ({
          ...row,
          edicion: Number(row.edicion),
          detectada_en: limaTime(new Date(Number(row.detectada_en))),
        }));
        const lines = linesIn(await bytesOf(await get(edition, {}, by)));
        expect(shown).toEqual(
          lines.map(({ antes, despues, ...rest }) => ({
            ...rest,
            ...{ antes_nombre: antes?.nombre ?? null, antes_estado: antes?.estado ?? null },
            ...{ antes_kilometro: antes?.kilometro ?? null, despues_nombre: despues?.nombre ?? null },
            ...{ despues_estado: despues?.estado ?? null, despues_kilometro: despues?.kilometro ?? null },
          })),
        );
      }
    } finally {
      connection.closeSync();
      await rm(folder, { recursive: true, force: true });
    }
  });

  test.each([ndjson, parquet])('as %s: its ranges put together are the whole', async (accept) => {
    const response = await get(2, { accept });
    const etag = response.headers.get('etag')!;
    const whole = await bytesOf(response);
    expect(response.headers.get('content-type')).toBe(accept);
    expect(response.headers.get('content-length')).toBe(String(whole.length));
    expect(response.headers.get('accept-ranges')).toBe('bytes');
    expect(response.headers.get('content-disposition')).toMatch(
      /^attachment; filename="padron_reducido-000002-2026-11-22\.(ndjson|parquet)"$/,
    );
    const parts: Buffer[] = [];
    for (let at = 0; at < whole.length; at += 9_973) {
      const part = await get(2, { accept, range: `bytes=${at}-${at + 9_972}`, 'if-range': etag });
      const last = Math.min(at + 9_972, whole.length - 1);
      expect([part.status, part.headers.get('content-range')]).toEqual([206, `bytes ${at}-${last}/${whole.length}`]);
      parts.push(await bytesOf(part));
    }
    expect(Buffer.concat(parts).equals(whole)).toBe(true);
    expect((await bytesOf(await get(2, { accept, range: 'bytes=-8' }))).equals(whole.subarray(-8))).toBe(true);
    const other = await get(2, { accept, range: 'bytes=0-9', 'if-range': '"other"' });
    expect([other.status, (await bytesOf(other)).equals(whole)]).toEqual([200, true]);
    const outside = await get(2, { accept, range: `bytes=${whole.length}-` });
    expect(outside.headers.get('content-range')).toBe(`bytes */${whole.length}`);
    await expectProblem(outside, 'rango_no_satisfacible');
  });

  test('is revalidated by a strong ETag or its date, and HEAD gives its size', async () => {
    const response = await get(2);
    const whole = await bytesOf(response);
    const header = (name: string) => response.headers.get(name)!;
    expect(header('etag')).toMatch(/^"[0-9a-f]{32}"$/);
    expect(header('vary')).toBe('Authorization, Accept');
    expect(header('cache-control')).toBe('private, no-cache, no-transform');
    for (const headers of [
      { 'if-none-match': header('etag') },
      { 'if-modified-since': header('last-modified') },
    ] as Record<string, string>[]) {
      const again = await get(2, headers);
      expect([again.status, await again.text(), again.headers.get('etag')]).toEqual([304, '', header('etag')]);
    }
    const head = await enterprise.request(addressOf(2), { method: 'HEAD', headers: { range: 'bytes=0-1' } });
    expect([head.status, await head.text(), head.headers.get('content-length')]).toEqual([
      200,
      '',
      String(whole.length),
    ]);
    const [asParquet, forAll] = [await get(2, { accept: parquet }), await get(2, {}, contracted)];
    expect(new Set([response, asParquet, forAll].map((each) => each.headers.get('etag'))).size).toBe(3);
    expect(forAll.headers.get('cache-control')).toBe('no-store, no-transform');
    await Promise.all([asParquet.body?.cancel(), forAll.body?.cancel()]);
  });

  test('is refused in another form, to another plan, and where no edition is known', async () => {
    const refused = await expectProblem(await get(2, { accept: 'text/csv' }), 'formato_no_disponible');
    for (const type of [ndjson, parquet]) expect(refused.detail).toContain(type);
    const growing = await makeCaller(scene.around.pool, scene.around.api.url, { plan: 'crecimiento' });
    await expectProblem(await growing.request(addressOf(2)), 'plan_insuficiente');
    const unknown = await expectProblem(await get(5), 'recurso_no_encontrado');
    expect(unknown.detail).toContain('cuya última es la 4');
    for (const number of ['x', '0', '99999999999999999999'])
      await expectProblem(await enterprise.request(addressOf(number)), 'recurso_no_encontrado');
    await expectProblem(await enterprise.request('/id/v1/ediciones/otro/1/cambios'), 'recurso_no_encontrado');
    await expectProblem(await enterprise.request('/id/v1/ediciones/sancionados/1/cambios'), 'padron_no_disponible');
  });
});

describe('a download', () => {
  test('gives its place back when the client goes away', async () => {
    const by = await scene.makeAccount('CTD-2');
    const leaving = Array.from({ length: 8 }, () => new AbortController());
    // The file is larger than all buffers between the two, so a client that reads nothing keeps the download open.
    const open = await Promise.all(leaving.map(({ signal }) => by.request(addressOf(1), { signal })));
    expect(open.map(({ status }) => status)).toEqual(open.map(() => 200));
    const refused = await by.request(addressOf(2));
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    await expectProblem(refused, 'demasiadas_descargas');
    expect((await get(2)).status, 'another account').toBe(200);
    leaving[0]!.abort();
    await expect.poll(async () => (await by.request(addressOf(2), { method: 'HEAD' })).status).toBe(200);
    for (const each of leaving) each.abort();
  });

  test('by the client goes on after breaks, and yields each change once', async () => {
    let broken = 0;
    const ranges: (string | null)[] = [];
    const client = makeClient({
      baseUrl: scene.around.api.url,
      token: enterprise.token,
      async fetch(input, init) {
        const response = await fetch(input, init);
        ranges.push(new Headers(init?.headers).get('range'));
        if (broken === 3) return response;
        broken += 1;
        return new Response(cutAfter(response.body!, 15_011), response);
      },
    });
    const seen: EditionChange[] = [];
    for await (const change of await client.descargarCambios({ registro: register, numero: '2' })) seen.push(change);
    expect(seen).toEqual(scene.expected(2, isCompany));
    expect(ranges).toEqual([null, 'bytes=15011-', 'bytes=30022-', 'bytes=45033-']);
  });
});

/** Passes so many bytes on, and then breaks as a lost connection does. */
function cutAfter(body: ReadableStream<Uint8Array>, bytes: number): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  let left = bytes;
  const pull = async (controller: ReadableStreamDefaultController<Uint8Array>) => {
    if (left <= 0) {
      await reader.cancel();
      return controller.error(new TypeError('the connection is lost'));
    }
    const { done, value } = await reader.read();
    if (done) return controller.close();
    controller.enqueue(value.subarray(0, left));
    left -= value.length;
  };
  // A break discards what was not read yet, so nothing is pulled in advance.
  return new ReadableStream({ pull }, { highWaterMark: 0 });
}

describe('a change file that is damaged', () => {
  const folder = () => fileURLToPath(scene.archive.environment.ARCHIVE_URL);

  test('is an error before the first byte, which names the file in the log alone', async () => {
    const path = join(folder(), register, 'changes', scene.files[2]!.sha256);
    await chmod(path, 0o644);
    truncateSync(path, (await stat(path)).size - 5);
    const problem = await expectProblem(await get(3), 'servicio_no_disponible');
    expect(JSON.stringify(problem)).not.toContain(scene.files[2]!.sha256);
    await expect
      .poll(() => scene.around.api.output())
      .toContain(`${register}/changes/${scene.files[2]!.sha256}: bring the right`);
    await rm(path);
    await expectProblem(await get(3, { accept: parquet }), 'servicio_no_disponible');
  });

  test('or lacks a change that the catalogue counted is one too, and leaves no file', async () => {
    await scene.addEdition(6, [], 1);
    const before = await readdir(join(scene.archive.environment.WORK_DIR, 'deltas', register));
    await expectProblem(await get(6), 'servicio_no_disponible');
    expect(await readdir(join(scene.archive.environment.WORK_DIR, 'deltas', register))).toEqual(before);
  });
});

test('an archive in a bucket gives the same bytes in another process', async () => {
  const store = await startObjectStore();
  const bucket = makeTestArchive(await store.archiveUrl('deltas', 'p'));
  const { ARCHIVE_URL: archiveUrl, WORK_DIR: workDir } = bucket.environment;
  const deltas = new DeltaFiles({
    archiveUrl,
    workDir,
    log: makeLogger('test', 'fatal'),
    // The process that makes files gives way to all others, so on a busy machine it may take minutes.
    limits: { ...defaultDeltaLimits, waitMs: 240_000 },
  });
  try {
    expect(await bucket.put(register, 2, scene.editions[1]!)).toEqual(scene.files[1]);
    const delta = { register, edition: 2, ...scene.files[1]!, fechaDato: '2026-11-22', audience: 'companies' } as const;
    for (const [form, accept] of [
      ['ndjson', ndjson],
      ['parquet', parquet],
    ] as const) {
      const { file } = await deltas.open({ ...delta, form } satisfies Delta, 1);
      const bytes = await readFile(file).finally(() => file.close());
      expect(bytes.equals(await bytesOf(await get(2, { accept })))).toBe(true);
    }
  } finally {
    await deltas.stop();
    bucket.remove();
    await store.stop();
  }
}, 300_000);
