import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Registry } from 'prom-client';
import type { Endpoints } from '../../../deploy/local/config.ts';
import type { Archive } from '../../../pipelines/archive/archive.ts';
import { sha256OfFile } from '../../../pipelines/archive/local-copies.ts';
import { openArchive } from '../../../pipelines/archive/open.ts';
import { makeLoopMetrics } from '../../../pipelines/consumers/batch.ts';
import { type RunningLoop, runLoop } from '../../../pipelines/consumers/loop.ts';
import { makeMaterializeHandler } from '../../../pipelines/consumers/materialize.ts';
import { makeShown } from '../../../pipelines/consumers/wait-for-group.ts';
import { makeWatchHandler, makeWatchMetrics } from '../../../pipelines/consumers/watch.ts';
import { engineOf } from '../../../pipelines/diff/engine.ts';
import type { CompareInput, CompareResult } from '../../../pipelines/diff/types.ts';
import { findEdition, recordMaterialised, recordNotified } from '../../../pipelines/editions/editions.ts';
import { readHead } from '../../../pipelines/editions/heads.ts';
import type { PlanDependencies } from '../../../pipelines/replay/plan.ts';
import { prepareStream } from '../../../pipelines/stream/prepare.ts';
import { produceEdition } from '../../../pipelines/stream/produce.ts';
import { checkMaterialised, groupPassed } from '../../../pipelines/stream/progress.ts';
import { SchemaArchive } from '../../../pipelines/stream/schema-archive.ts';
import { materializeGroup, watchGroup } from '../../../pipelines/stream/topics.ts';
import {
  type RecordSchemas,
  type RowColumns,
  schemaSource,
  WriterSchemas,
} from '../../../pipelines/stream/writer-schemas.ts';
import { changesTopic, type RegisterName, registers } from '../../../schemas/registers.ts';
import { makeStreamHarness, produceDependencies, type StreamHarness } from '../engines/stream.ts';

const deadlineMs = 60_000;
const signal = new AbortController().signal;

/**
 * Takes publications all the way to events without Temporal: real comparison, archive, catalogue, Kafka, consumers and
 * ClickHouse, called here in the workflows' order. It serves tests of the code that reads a history of several
 * editions.
 */
export class ReplayHarness {
  readonly stream: StreamHarness;
  readonly archive: Archive;
  readonly workDir: string;
  readonly #loops: RunningLoop[] = [];
  readonly failures: Error[] = [];

  private constructor(stream: StreamHarness, archive: Archive, workDir: string) {
    this.stream = stream;
    this.archive = archive;
    this.workDir = workDir;
  }

  static async start(endpoints: Endpoints, used: readonly RegisterName[]): Promise<ReplayHarness> {
    const stream = await makeStreamHarness(endpoints);
    const workDir = join(stream.folder, 'work');
    mkdirSync(workDir, { recursive: true });
    const harness = new ReplayHarness(stream, await openArchive(stream.archiveUrl, workDir), workDir);
    const { kafka, registry, pool, archiveUrl, prefix } = harness.stream;
    const ids = new Map<RegisterName, number>();
    for (const register of used) {
      ids.set(register, (await prepareStream({ kafka, registry, pool, archiveUrl, prefix }, register)).changes);
    }
    const source = schemaSource(registry, new SchemaArchive(archiveUrl), prefix);
    await harness.#startLoops(used, (rows) => new WriterSchemas(source, ids, rows));
    return harness;
  }

  planDependencies(): PlanDependencies {
    const { pool, environment } = this.stream;
    return { pool, archive: this.archive, clickhouseTarget: environment.CLICKHOUSE_URL!, workDir: this.workDir };
  }

  /**
   * Takes one publication all the way: compared, frozen, produced, materialised, notified. Returns the comparison. With
   * `previous`, the rows that today's parser reads in the head's publication, it is a re-baseline.
   */
  async publish(
    register: RegisterName,
    publication: string,
    fechaDato: string,
    previous: CompareInput['previous'] = null,
  ): Promise<CompareResult> {
    const { pool } = this.stream;
    const head = await readHead(pool, register);
    const result = await engineOf(register).compare(
      {
        register,
        publicationPath: publication,
        workDir: this.workDir,
        base: head.edition === 0 ? null : { edition: head.edition, changeFileSha256: head.change_file_sha256! },
        edition: head.edition + 1,
        detectedAt: Date.now(),
        outputDir: this.workDir,
        previous,
      },
      () => {},
      signal,
    );
    const copy = join(this.workDir, 'publication');
    copyFileSync(publication, copy);
    const sha256 = await sha256OfFile(copy);
    await this.archive.put({ register, kind: 'publications', sha256 }, copy);
    const { rows } = await pool.query<{ id: number }>(
      `INSERT INTO publication (register, sha256, fecha_dato, published_at, state)
       VALUES ($1, $2, $3, $3::date + interval '3 hours', 'publicando') RETURNING id`,
      [register, sha256, fechaDato],
    );
    await this.#finish(register, result, { publication: rows[0]!.id, corrects: null, fechaDato, sha256 });
    return result;
  }

  /** Undoes an edition as an operator's correction does. */
  async revert(register: RegisterName, corrects: number): Promise<CompareResult> {
    const { pool } = this.stream;
    const head = await readHead(pool, register);
    const overlay = (await findEdition(pool, register, head.edition))!.overlay_sha256;
    const wrong = (await findEdition(pool, register, corrects))!.change_file_sha256;
    const result = await engineOf(register).correct(
      {
        register,
        workDir: this.workDir,
        base: { edition: head.edition, changeFileSha256: head.change_file_sha256! },
        edition: head.edition + 1,
        detectedAt: Date.now(),
        corrects,
        correctedFile: await this.archive.localFile({ register, kind: 'changes', sha256: wrong }),
        overlayPath:
          overlay === null ? null : await this.archive.localFile({ register, kind: 'overlays', sha256: overlay }),
        outputDir: this.workDir,
      },
      () => {},
      signal,
    );
    const { fecha_dato: fechaDato, publication_sha256: sha256 } = head;
    await this.#finish(register, result, { publication: null, corrects, fechaDato: fechaDato!, sha256: sha256! });
    return result;
  }

  /** Freezes an edition without producing it, so that it is still on its way. */
  async freeze(register: RegisterName, result: CompareResult, from: Origin): Promise<number> {
    const { pool } = this.stream;
    const { columns, parserVersion } = registers[register];
    const number = (await readHead(pool, register)).edition + 1;
    const { changeFile, overlayFile, baseline, stateRows, rowsByKind } = result;
    await this.archive.put({ register, kind: 'changes', sha256: changeFile.sha256 }, changeFile.path);
    if (overlayFile !== null) {
      await this.archive.put({ register, kind: 'overlays', sha256: overlayFile.sha256 }, overlayFile.path);
    }
    const changes = baseline + result.inserted + result.updated + result.deleted;
    const names = columns.map(({ name }) => name);
    await pool.query(
      `INSERT INTO edition (register, number, publication_id, corrects, fecha_dato, published_at, detected_at,
         change_file_sha256, overlay_sha256, parser_version, columns, changes, counts)
       VALUES ($1, $2, $3, $4, $5::date, $5::date, now(), $6, $7, $8, $9, $10, $11)`,
      [
        ...[register, number, from.publication, from.corrects, from.fechaDato, changeFile.sha256],
        ...[overlayFile?.sha256, parserVersion, names, changes, JSON.stringify({ baseline, stateRows, rowsByKind })],
      ],
    );
    await pool.query(
      'UPDATE register_head SET edition = $2, fecha_dato = $3::date, published_at = $3::date, publication_sha256 = $4 WHERE register = $1',
      [register, number, from.fechaDato, from.sha256],
    );
    return number;
  }

  async #finish(register: RegisterName, result: CompareResult, from: Origin): Promise<void> {
    const { pool, clickhouse } = this.stream;
    const edition = await this.freeze(register, result, from);
    const sha256 = result.changeFile.sha256;
    const changeFile = await this.archive.localFile({ register, kind: 'changes', sha256 });
    await produceEdition(produceDependencies(this.stream), { register, edition, changeFile }, () => {}, signal);
    const parts = { ...this.stream, clickhouse };
    await this.until(async () => (await checkMaterialised(parts, register, edition)) === 'materialised');
    await recordMaterialised(pool, register, edition);
    await this.until(() => groupPassed(this.stream, watchGroup(this.stream.prefix), register, edition));
    await recordNotified(pool, register, edition);
  }

  async until(isDone: () => Promise<boolean>): Promise<void> {
    for (const deadline = Date.now() + deadlineMs; !(await isDone()); await sleep(50)) {
      if (this.failures.length > 0) throw this.failures[0];
      if (Date.now() > deadline) throw new Error('it takes too long');
    }
  }

  async close(): Promise<void> {
    for (const loop of this.#loops) await loop.stop();
    await this.stream.close();
  }

  async #startLoops(used: readonly RegisterName[], schemasOf: (rows: RowColumns) => RecordSchemas): Promise<void> {
    const { kafka, clickhouse, pool, offsets, prefix, log } = this.stream;
    const metrics = new Registry();
    const watch = makeWatchHandler({
      pool,
      lastKnownRows: async () => new Map(),
      shown: makeShown(offsets, async () => [materializeGroup(prefix)]),
      wake: async () => {},
      log,
      metrics: makeWatchMetrics(metrics),
      limits: { holdMs: 5_000, holdPollMs: 20 },
    });
    const handlers = [
      {
        group: materializeGroup(prefix),
        schemas: schemasOf('as_written'),
        handle: makeMaterializeHandler(clickhouse, metrics),
      },
      { group: watchGroup(prefix), schemas: schemasOf('today'), handle: watch },
    ];
    const loopMetrics = makeLoopMetrics(metrics);
    for (const { group, schemas, handle } of handlers) {
      const topics = used.map((register) => ({ topic: changesTopic(prefix, register), register }));
      const onFailure = (error: Error) => void this.failures.push(error);
      const limits = { sessionTimeoutMs: 6_000, heartbeatMs: 500 };
      this.#loops.push(
        await runLoop({ kafka, group, topics, schemas, handle, log, metrics: loopMetrics, onFailure, limits }),
      );
    }
  }
}

interface Origin {
  publication: number | null;
  corrects: number | null;
  fechaDato: string;
  sha256: string;
}

/** Writes a publication of barred suppliers in CONOSCE's format. */
export function writeBars(path: string, suppliers: readonly (readonly [id: string, resolution: string])[]): string {
  const header =
    'FECHA_CORTE|RUC|NOMBRE_RAZONODENOMINACIONSOCIAL|FECHA_INICIO|FECHA_FIN|NUMERO_RESOLUCION|ID_MOTIVO_INFRACCION|DE_MOTIVO_INFRACCION';
  const lines = suppliers.map(
    ([id, resolution]) => `20261120|${id}|PROVEEDOR DE PRUEBA|20250115|20260415|${resolution}|214,|TEXTO`,
  );
  writeFileSync(path, [header, ...lines].map((line) => `${line}\r\n`).join(''));
  return path;
}

/** Creates an account with a list of these companies and a webhook, both older than every edition. */
export async function watchCompanies(pool: StreamHarness['pool'], rucs: readonly string[]): Promise<void> {
  await pool.query(
    `WITH account AS (INSERT INTO account (name, plan) VALUES ('Prueba', 'crecimiento') RETURNING id),
       list AS (INSERT INTO watch_list (account_id, nombre, created_at)
         SELECT id, 'Proveedores', now() - interval '1 day' FROM account RETURNING id),
       hook AS (INSERT INTO webhook (id, account_id, url, created_at)
         SELECT 'wh_replay', id, 'https://example.com', now() - interval '1 day' FROM account)
     INSERT INTO watch_member (list_id, ruc, added_at)
     SELECT list.id, unnest($1::text[]), now() - interval '1 day' FROM list`,
    [rucs],
  );
}
