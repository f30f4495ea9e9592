import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { openArchive } from '../../../pipelines/archive/open.ts';
import type { Change } from '../../../pipelines/changes/record.ts';
import type { RegisterName } from '../../../schemas/registers.ts';
import { changesBetween, type State, writeChanges } from './change-files.ts';

/** An archive for the api, with the change files that a test puts there. */
export interface TestArchive {
  /** Settings of the api. On a busy machine, a file may take long to make. */
  environment: { ARCHIVE_URL: string; WORK_DIR: string; DELTA_WAIT_MS: string };
  /** Writes the change file of an edition, and returns what the catalogue knows about it. */
  put(
    register: RegisterName,
    edition: number,
    changes: readonly Change[],
  ): Promise<{ sha256: string; changes: number }>;
  remove(): void;
}

/** @param archiveUrl an archive elsewhere, such as a bucket; if omitted, a folder of its own */
export function makeTestArchive(archiveUrl?: string): TestArchive {
  const folder = mkdtempSync(join(tmpdir(), 'padron-archive-'));
  const [archiveFolder, workDir] = [join(folder, 'archive'), join(folder, 'work')];
  mkdirSync(workDir);
  const url = archiveUrl ?? pathToFileURL(archiveFolder).href;
  return {
    environment: { ARCHIVE_URL: url, WORK_DIR: workDir, DELTA_WAIT_MS: '60000' },
    async put(register, edition, changes) {
      const archive = await openArchive(url, workDir);
      const { path, sha256 } = writeChanges(workDir, register, edition, changes);
      await archive.put({ register, kind: 'changes', sha256 }, path);
      return { sha256, changes: changes.length };
    },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

/** The changes of editions that have these states one after another. */
export function historyOf(register: RegisterName, states: readonly State[]): Change[][] {
  return states.map((state, at) => changesBetween(register, states[at - 1] ?? new Map(), state, at + 1));
}
