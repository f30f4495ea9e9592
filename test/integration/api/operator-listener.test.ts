import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { makePool, type Pool } from '../../../pipelines/runtime/postgres.ts';
import { startApi } from '../../support/api/process.ts';
import {
  type FreshClickhouseDatabase,
  type FreshDatabase,
  migratedClickhouseDatabase,
  migratedDatabase,
} from '../../support/engines/isolation.ts';
import { makeOperatorScene, type OperatorScene } from '../../support/pages/operator-scene.ts';
import { operatorVisitor } from '../../support/pages/operators.ts';
import { Visitor } from '../../support/pages/visitor.ts';

// The operators' listener of the real process.

let database: FreshDatabase;
let store: FreshClickhouseDatabase;
let pool: Pool;
let scene: OperatorScene;
beforeAll(async () => {
  database = await migratedDatabase(inject('endpoints'));
  store = await migratedClickhouseDatabase(inject('endpoints'));
  pool = makePool(database.DATABASE_URL, 'test', 2);
  scene = await makeOperatorScene(pool);
});
afterAll(async () => {
  await scene?.close();
  await pool?.end();
  await Promise.all([database?.drop(), store?.drop()]);
});

test('it has a port of its own, keeps the lines of the newest edition ready, and stops with the process', async () => {
  const workDir = join(scene.folder, 'work');
  const api = await startApi({
    ...{ DATABASE_URL: database.DATABASE_URL, CLICKHOUSE_URL: store.CLICKHOUSE_URL, WORK_DIR: workDir },
    ...{ ARCHIVE_URL: pathToFileURL(join(scene.folder, 'archive')).href, OPERATOR_HTTP_PORT: '0' },
    ...{ OIDC_ISSUER_URL: 'http://127.0.0.1:9', OIDC_CLIENT_ID: 'padron', OIDC_VIEWER_GROUP: 'miran' },
  });
  try {
    const port = await expect
      .poll(() => /"port":(\d+),"msg":"listening for operators"/.exec(api.output())?.[1], { timeout: 30_000 })
      .toBeDefined()
      .then(() => /"port":(\d+),"msg":"listening for operators"/.exec(api.output())![1]!);
    const url = `http://127.0.0.1:${port}`;
    expect((await new Visitor(url).get('/')).html).toContain('href="/proveedor"');
    expect((await new Visitor(api.url).get('/registros')).status).toBe(404);
    const lines = join(workDir, 'lines');
    const kept = () => (existsSync(lines) ? readdirSync(lines).filter((name) => !name.includes('attempt')) : []);
    await expect.poll(kept, { timeout: 60_000 }).toHaveLength(1);
    const visitor = await operatorVisitor(pool, url, 'viewer', 'Beto Paz');
    const { html } = await visitor.get('/ediciones/padron_reducido/3/cambios/20990000019');
    expect(html).toContain('20990000019|PRIMERA EMPRESA S.A.|BAJA DEFINITIVA|');
  } finally {
    expect(await api.stop()).toBe(0);
  }
});
