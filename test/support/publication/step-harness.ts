import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Endpoints } from '../../../deploy/local/config.ts';
import type { Archive } from '../../../pipelines/archive/archive.ts';
import { openArchive } from '../../../pipelines/archive/open.ts';
import { engineOf } from '../../../pipelines/diff/engine.ts';
import { compareLimits } from '../../../pipelines/diff/types.ts';
import {
  changeFilesFromLastFull,
  oldestUnfinishedEdition,
  recordMaterialised,
  recordNotified,
  recordPublished,
} from '../../../pipelines/editions/editions.ts';
import { freezeEdition } from '../../../pipelines/editions/freeze.ts';
import { ensureHead, readHead } from '../../../pipelines/editions/heads.ts';
import { findPublication, type Publication } from '../../../pipelines/editions/publications.ts';
import type { DownloadLimits } from '../../../pipelines/registers/download.ts';
import { makeEgressDispatcher } from '../../../pipelines/runtime/egress/dispatcher.ts';
import { inTransaction, makePool, type Pool } from '../../../pipelines/runtime/postgres.ts';
import { type RegisterName, registerNames } from '../../../schemas/registers.ts';
import { type CompareDependencies, comparePublication } from '../../../workflows/publication/compare.ts';
import { differenceOf } from '../../../workflows/publication/comparison.ts';
import { compareCorrection } from '../../../workflows/publication/correct.ts';
import { type FetchDependencies, fetchPublication, probe } from '../../../workflows/publication/fetch.ts';
import { gatesByRegister } from '../../../workflows/publication/gate-settings.ts';
import { judgePublication, nextWork, verifyPublication } from '../../../workflows/publication/judge.ts';
import { defaultPublicationSettings } from '../../../workflows/publication/worker.ts';
import { migratedDatabase } from '../engines/isolation.ts';
import { FaultyOfficialSite, sourcesAt } from './official-site.ts';

/** Runs a step that nobody stops, without reports of its progress. */
export const stepRun = { report: () => {}, signal: new AbortController().signal };

/**
 * The steps of both workflows against a faulty site, without Temporal, Kafka and consumers. They need only PostgreSQL
 * and folders up to the point of no return. Tests look at the head, because only the head's editions reach live data.
 */
export interface StepHarness {
  site: FaultyOfficialSite;
  pool: Pool;
  parts: FetchDependencies & CompareDependencies;
  /** Probes, then downloads what is new. Returns null if nothing is. */
  fetch(register: RegisterName): Promise<Publication | null>;
  /** Finishes all open corrections and archived publications in their order. */
  settle(register: RegisterName): Promise<void>;
  /** Calls `fetch` and `settle`. Returns the new publication in its final state. */
  run(register: RegisterName): Promise<Publication | null>;
  /** The same steps over other connections and another archive, which a test breaks as if the process died. */
  over(pool: Pool, archive: Archive): Pick<StepHarness, 'run'>;
  /** The requests since the last call, as `METHOD /path`. */
  asked(): string[];
  close(): Promise<void>;
}

/** `stallTimeoutMs` is long by default, because a busy machine must not count as a stalled site. */
export async function makeStepHarness(endpoints: Endpoints, stallTimeoutMs = 10_000): Promise<StepHarness> {
  const database = await migratedDatabase(endpoints);
  const pool = makePool(database.DATABASE_URL, 'test', 4);
  for (const register of registerNames) await ensureHead(pool, register);
  const folder = mkdtempSync(join(tmpdir(), 'padron-steps-'));
  const site = new FaultyOfficialSite();
  await site.start();
  const workDir = join(folder, 'work');
  const archive = await openArchive(pathToFileURL(join(folder, 'archive')).href, workDir);
  const access = siteAccess();
  const parts = partsOver(pool, archive, {
    access,
    sources: sourcesAt(site),
    workDir,
    downloadLimits: impatient(stallTimeoutMs),
  });
  return {
    site,
    pool,
    parts,
    ...stepsOf(parts),
    over: (otherPool, otherArchive) => stepsOf(partsOver(otherPool, otherArchive, parts)),
    asked: () => site.asked.splice(0),
    async close() {
      await access.dispatcher.destroy();
      await site.close();
      await pool.end();
      await database.drop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function siteAccess() {
  const policy = { allowPrivateTargets: true, allowHttp: true };
  const dispatcher = makeEgressDispatcher(policy, {
    connectTimeoutMs: 2_000,
    headersTimeoutMs: 5_000,
    bodyIdleTimeoutMs: 5_000,
    connectionsPerOrigin: 2,
    keepAliveMs: 1_000,
  });
  return { dispatcher, policy, userAgent: 'padron-test' };
}

/** Download limits with short pauses. */
function impatient(stallTimeoutMs: number): DownloadLimits {
  return {
    ...defaultPublicationSettings.downloadLimits,
    stallTimeoutMs,
    maxFailuresWithoutProgress: 3,
    progressBytes: 10_000,
    firstPauseMs: 20,
    maxPauseMs: 100,
    reserveBytes: 0,
  };
}

function partsOver(
  pool: Pool,
  archive: Archive,
  shared: Pick<FetchDependencies & CompareDependencies, 'access' | 'sources' | 'workDir' | 'downloadLimits'>,
): FetchDependencies & CompareDependencies {
  const { workDir } = shared;
  return {
    ...shared,
    ...stepRun,
    pool,
    archive,
    zipLimits: compareLimits,
    gates: gatesByRegister,
    editionsToRepublish: async () => [],
    guard: {
      problemOf: async () => null,
      freeze: async (register, kind, id) =>
        freezeEdition(pool, register, kind, id, differenceOf, (await readHead(pool, register)).edition),
    },
    compare: (input, report, signal) => engineOf(input.register).compare(input, report, signal),
    correct: (input, report, signal) => engineOf(input.register).correct(input, report, signal),
    async rebuildIndex(register, edition, report, signal) {
      const names = await changeFilesFromLastFull(pool, register, edition);
      const changeFiles = await Promise.all(
        names.map(async (name) => {
          const path = await archive.localFile({ register, kind: 'changes', sha256: name.sha256 });
          return { ...name, path };
        }),
      );
      await engineOf(register).rebuild({ register, workDir, changeFiles }, report, signal);
    },
  };
}

function stepsOf(parts: FetchDependencies & CompareDependencies): Pick<StepHarness, 'fetch' | 'settle' | 'run'> {
  const { pool } = parts;
  const fetch = async (register: RegisterName) => {
    const found = await probe(parts, register);
    if (found.outcome === 'nothing_new') return null;
    const { publicationId } = await fetchPublication(parts, register, found.publicationId);
    return await findPublication(pool, publicationId);
  };
  const settle = async (register: RegisterName) => {
    for (;;) {
      const work = await nextWork(parts, register);
      if (work.kind === 'none') return;
      if (work.kind === 'edition') await finishEdition(pool, register);
      if (work.kind === 'correction') await takeCorrection(parts, register, work.correctionId);
      if (work.kind === 'publication') await takePublication(parts, register, work.publicationId);
    }
  };
  const run = async (register: RegisterName) => {
    const fetched = await fetch(register);
    await settle(register);
    return fetched === null ? null : await findPublication(pool, fetched.id);
  };
  return { fetch, settle, run };
}

async function takePublication(parts: CompareDependencies, register: RegisterName, id: number): Promise<void> {
  if ((await verifyPublication(parts, register, id)).outcome === 'ended') return;
  if ((await comparePublication(parts, register, id)).outcome === 'ended') return;
  if ((await judgePublication(parts, register, id)).outcome === 'ended') return;
  await parts.guard.freeze(register, 'publication', id);
}

async function takeCorrection(parts: CompareDependencies, register: RegisterName, id: number): Promise<void> {
  if ((await compareCorrection(parts, register, id)).outcome === 'ended') return;
  await parts.guard.freeze(register, 'correction', id);
}

/** Records what the producer and the consumers record once an edition is finished. */
async function finishEdition(pool: Pool, register: RegisterName): Promise<void> {
  const edition = await oldestUnfinishedEdition(pool, register);
  if (edition === null) return;
  await inTransaction(pool, (client) => recordPublished(client, register, edition));
  await recordMaterialised(pool, register, edition);
  await recordNotified(pool, register, edition);
}
