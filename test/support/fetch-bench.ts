import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Endpoints } from '../../deploy/local/endpoints.ts';
import { makeEgressDispatcher } from '../../deploy/runtime/egress/dispatcher.ts';
import { migratePostgres } from '../../deploy/runtime/migrate.ts';
import { makePool } from '../../deploy/runtime/postgres.ts';
import { openArchive } from '../../pipelines/archive/open.ts';
import { compareLimits } from '../../pipelines/diff/types.ts';
import { ensureHead } from '../../pipelines/editions/heads.ts';
import { findPublication, type Publication } from '../../pipelines/editions/publications.ts';
import { type RegisterName, registerNames } from '../../schemas/registers.ts';
import { type FetchParts, fetchPublication, probe } from '../../workflows/publication/fetch-steps.ts';
import { freshDatabase } from './isolation.ts';
import { FaultyOfficialSite, sourcesAt } from './official-site.ts';
import { testSettings } from './publication-bench.ts';

/** The steps of `fetch` against a faulty site: PostgreSQL and a folder are all they need. */
export interface FetchBench {
  site: FaultyOfficialSite;
  parts: FetchParts;
  /** Probe, then download what is new; null when nothing is. */
  fetch(register: RegisterName): Promise<Publication | null>;
  /** `METHOD /path` of what was asked since the last call. */
  asked(): string[];
  close(): Promise<void>;
}

export async function makeFetchBench(endpoints: Endpoints): Promise<FetchBench> {
  const database = await freshDatabase(endpoints);
  await migratePostgres(database.DATABASE_URL);
  const pool = makePool(database.DATABASE_URL, 'test', 4);
  for (const register of registerNames) await ensureHead(pool, register);
  const folder = mkdtempSync(join(tmpdir(), 'padron-fetch-'));
  const site = new FaultyOfficialSite();
  await site.start();
  const policy = { allowPrivateTargets: true, allowHttp: true };
  const dispatcher = makeEgressDispatcher(policy, {
    connectTimeoutMs: 2_000,
    headersTimeoutMs: 5_000,
    bodyIdleTimeoutMs: 5_000,
    connectionsPerOrigin: 2,
    keepAliveMs: 1_000,
  });
  const parts: FetchParts = {
    pool,
    archive: await openArchive(pathToFileURL(join(folder, 'archive')).href, join(folder, 'work')),
    access: { dispatcher, policy, userAgent: 'padron-test' },
    sources: sourcesAt(site),
    downloadLimits: testSettings.downloadLimits,
    zipLimits: compareLimits,
  };
  const signal = new AbortController().signal;
  return {
    site,
    parts,
    async fetch(register) {
      const found = await probe(parts, register, signal);
      if (found.outcome === 'nothing_new') return null;
      const { publicationId } = await fetchPublication(parts, register, found.publicationId, () => {}, signal);
      return await findPublication(pool, publicationId);
    },
    asked: () => site.asked.splice(0),
    async close() {
      await dispatcher.destroy();
      await site.close();
      await pool.end();
      await database.drop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
