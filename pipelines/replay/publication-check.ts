import { link, mkdir, mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { CompareError } from '../changes/errors.ts';
import { runInChild } from '../diff/child.ts';
import type { CompareInput } from '../diff/types.ts';
import { maxAttemptAgeMs } from '../diff/work-files.ts';
import { ChangeRecords } from './change-records.ts';
import type { ExpectedOverlay } from './overlay.ts';
import { RowHash } from './row-hash.ts';
import type { Differences } from './row-ranges.ts';
import type { Meter, PublicationInput, VerifyInput } from './types.ts';

const scratchPrefix = 'verify-';

/**
 * Compares the state with its publication, by the engine in pipelines/diff. For every difference that the engine finds,
 * the overlay must hold the state's row. The engine works in a scratch folder, on links to the head's working files.
 * Otherwise the engine could remove working files that the next edition is about to read. If the process dies, a later
 * run removes the scratch folder.
 */
export async function checkPublication(
  input: VerifyInput,
  publication: PublicationInput,
  dependencies: { differences: Differences; overlay: ExpectedOverlay; meter: Meter },
  signal: AbortSignal,
): Promise<void> {
  const { differences, overlay, meter } = dependencies;
  const head = input.changeFiles.at(-1)!;
  const scratch = await linkedWorkDir(publication.workDir, input.register);
  try {
    const compareInput: CompareInput = {
      register: input.register,
      publicationPath: publication.path,
      workDir: scratch,
      base: { edition: head.edition, changeFileSha256: head.sha256 },
      edition: head.edition + 1,
      detectedAt: Date.now(),
      outputDir: scratch,
    };
    const { changeFile, lines } = await compareOrRebuild(input, compareInput, meter, signal);
    differences.report.rows = lines;
    const file = { edition: compareInput.edition, changes: 0, baseline: 0, ...changeFile };
    const records = await ChangeRecords.open(file, input.register);
    const hash = new RowHash();
    try {
      while (await records.nextBlock()) {
        while (records.step()) {
          if (overlay.explains(records, hash)) continue;
          // A row that only the publication has is missing in the state. A row that only the state has is extra.
          const kind = records.beforeAt < 0 ? 'missing' : records.afterAt < 0 ? 'extra' : 'differs';
          differences.add(kind, records.stateKey, null);
        }
      }
    } finally {
      await records.close();
    }
    for (const key of overlay.contradicted()) differences.add('differs', key, null);
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

async function compareOrRebuild(input: VerifyInput, compareInput: CompareInput, meter: Meter, signal: AbortSignal) {
  meter.begin('publication', []);
  const report = (progress: { lines: number }) => meter.at(progress.lines);
  try {
    return await runInChild('compare', compareInput, report, signal);
  } catch (error) {
    if (!(error instanceof CompareError && ['index_missing', 'index_damaged'].includes(error.code))) throw error;
    const { register, lastFull } = input;
    const changeFiles = input.changeFiles.filter(({ edition }) => edition >= lastFull);
    await runInChild('rebuild', { register, workDir: compareInput.workDir, changeFiles }, () => {}, signal);
    return await runInChild('compare', compareInput, report, signal);
  }
}

/** Makes a scratch folder of links to finished indexes and row stores (they never change). Removes old such folders. */
async function linkedWorkDir(workDir: string, register: string): Promise<string> {
  await mkdir(workDir, { recursive: true });
  const names = await readdir(workDir);
  for (const name of names.filter((one) => one.startsWith(scratchPrefix))) {
    const path = join(workDir, name);
    const found = await stat(path).catch(() => null);
    if (found !== null && Date.now() - found.mtimeMs > maxAttemptAgeMs) {
      await rm(path, { recursive: true, force: true });
    }
  }
  const scratch = await mkdtemp(join(workDir, scratchPrefix));
  const finished = new RegExp(`^${register}\\.[0-9a-f]{64}\\.[a-z]+$`);
  for (const name of names.filter((one) => finished.test(one))) {
    // Another comparison may have removed the file. `compareOrRebuild` then rebuilds it in the scratch folder.
    await link(join(workDir, name), join(scratch, name)).catch(() => {});
  }
  return scratch;
}
