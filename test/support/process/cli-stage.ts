import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect } from 'vitest';
import type { Endpoints } from '../../../deploy/local/config.ts';
import { migratePostgres } from '../../../pipelines/runtime/migrate.ts';
import { makePool, type Pool } from '../../../pipelines/runtime/postgres.ts';
import type { RegisterName } from '../../../schemas/registers.ts';
import { freshDatabase, freshNamespace } from '../engines/isolation.ts';
import { type CommandResult, padronDocument, runCommand } from './command.ts';

/** An installation for tests of `padron`: a migrated database, a Temporal namespace and an archive of its own. */
export interface CliStage {
  pool: Pool;
  folder: string;
  environment: Record<string, string>;
  padron(...words: string[]): Promise<CommandResult>;
  document<Answer>(...words: string[]): Promise<Answer>;
  /** Checks that a command fails: nothing on standard output, this on standard error, no stack trace. */
  expectRefused(words: readonly string[], stderr: RegExp): Promise<void>;
  close(): Promise<void>;
}

export async function makeCliStage(endpoints: Endpoints): Promise<CliStage> {
  const folder = mkdtempSync(join(tmpdir(), 'padron-cli-'));
  const database = await freshDatabase(endpoints);
  await migratePostgres(database.DATABASE_URL);
  const pool = makePool(database.DATABASE_URL, 'test', 2);
  const environment = {
    PADRON_LOCAL_DIR: folder,
    DATABASE_URL: database.DATABASE_URL,
    TEMPORAL_ADDRESS: endpoints.TEMPORAL_ADDRESS,
    TEMPORAL_NAMESPACE: await freshNamespace(endpoints),
    ARCHIVE_URL: pathToFileURL(join(folder, 'archive')).href,
    WORK_DIR: join(folder, 'work'),
  };
  const padron = (...words: string[]) => runCommand(words, environment);
  return {
    pool,
    folder,
    environment,
    padron,
    document: (...words) => padronDocument(words, environment, runCommand),
    async expectRefused(words, stderr) {
      const refused = await padron(...words);
      expect([refused.code, refused.stdout], words.join(' ')).toEqual([1, '']);
      expect(refused.stderr).toMatch(stderr);
      expect(refused.stderr).not.toMatch(/\n {4}at /);
    },
    async close() {
      await pool.end();
      await database.drop();
      rmSync(folder, { recursive: true });
    },
  };
}

/** Writes a publication straight into the catalogue, as the pipeline would leave it. */
export async function insertPublication(
  pool: Pool,
  row: {
    register: RegisterName;
    state: string;
    fecha_dato?: string | null;
    compare_result?: unknown;
    gates?: unknown[];
  },
): Promise<number> {
  const { register, state, fecha_dato = null, compare_result = null, gates = [] } = row;
  const { rows } = await pool.query<{ id: number }>(
    `INSERT INTO publication (register, sha256, fecha_dato, published_at, state, compare_result, gates)
     VALUES ($1, md5(random()::text), $2, $2::date, $3, $4, $5) RETURNING id`,
    [
      register,
      fecha_dato,
      state,
      compare_result === null ? null : JSON.stringify(compare_result),
      JSON.stringify(gates),
    ],
  );
  return rows[0]!.id;
}

export interface EditionRow {
  register: RegisterName;
  number: number;
  publication: number | null;
  fechaDato: string;
  corrects?: number;
  counts?: Record<string, number>;
  /** How far it is: frozen only, produced, materialised, or notified as well. */
  steps?: 0 | 1 | 2 | 3;
}

/** Writes an edition straight into the catalogue, as the pipeline would leave it. */
export async function insertEdition(pool: Pool, edition: EditionRow): Promise<void> {
  const { register, number, publication, fechaDato, corrects = null, counts = {}, steps = 3 } = edition;
  await pool.query(
    `INSERT INTO edition (register, number, publication_id, corrects, fecha_dato, published_at, detected_at,
       change_file_sha256, parser_version, columns, changes, counts, publicada_at, materializada_at, avisada_at)
     VALUES ($1, $2, $3, $4, $5, $5::date, $5::date, $6, 1, '{}', 12, $7,
       CASE WHEN $8 > 0 THEN now() END, CASE WHEN $8 > 1 THEN now() END, CASE WHEN $8 > 2 THEN now() END)`,
    [register, number, publication, corrects, fechaDato, 'cd'.repeat(32), JSON.stringify(counts), steps],
  );
}
