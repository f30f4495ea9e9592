import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { waitForLock } from './lock.ts';

export type Log = (line: string) => void;

/** Where programs are kept, how they are found and who is told about progress. */
export interface ProgramStore {
  directory: string;
  searchPath: string;
  log: Log;
}

const fetchTimeoutMs = 15 * 60_000;
const progressEveryMs = 3000;
const keptOutputLines = 15;

/**
 * The folder of a fetched program. It is fetched on first use into a temporary name and renamed when whole, so a folder
 * with the final name is complete. Only one process of this machine fetches a program at a time; others wait for it.
 */
export async function fetchOnce(
  store: ProgramStore,
  name: string,
  fetch: (folder: string) => Promise<void>,
): Promise<string> {
  const final = path.join(store.directory, name);
  if (existsSync(final)) return final; // warm: no lock, no network
  mkdirSync(store.directory, { recursive: true });
  const release = await waitForLock(path.join(store.directory, `.${name}.lock`), fetchTimeoutMs, (owner) =>
    store.log(`${name}: process ${owner.pid} is fetching it, waiting`),
  );
  try {
    if (existsSync(final)) return final;
    removePartials(store.directory, name);
    const partial = path.join(store.directory, `.${name}.partial`);
    mkdirSync(partial);
    const startedAt = Date.now();
    await fetch(partial);
    renameSync(partial, final); // dying before this line leaves a .partial, which the next fetch removes
    store.log(`${name}: fetched in ${seconds(startedAt)} s`);
    return final;
  } finally {
    release();
  }
}

function removePartials(directory: string, name: string): void {
  for (const entry of readdirSync(directory)) {
    if (entry === `.${name}.partial`) rmSync(path.join(directory, entry), { recursive: true });
  }
}

/** Runs a fetching command to its end, with a progress line now and then. Throws with its last lines if it fails. */
export async function runFetch(log: Log, title: string, command: string, args: readonly string[]): Promise<void> {
  const startedAt = Date.now();
  log(`${title}: fetching (first use only)`);
  // Maven is Java, which finds a folder whose name has a letter such as ó in a UTF-8 locale only.
  const env = { ...process.env, LC_ALL: 'C.UTF-8' };
  const child = spawn(command, args, { env, stdio: ['ignore', 'pipe', 'pipe'], timeout: fetchTimeoutMs });
  const lastLines: string[] = [];
  let downloaded = 0;
  for (const stream of [child.stdout, child.stderr]) {
    createInterface({ input: stream }).on('line', (line) => {
      if (/\bDownloaded\b|\bDownloading\b.*\.whl/.test(line)) downloaded += 1;
      lastLines.push(line);
      if (lastLines.length > keptOutputLines) lastLines.shift();
    });
  }
  const progress = setInterval(() => log(`${title}: ${downloaded} files, ${seconds(startedAt)} s`), progressEveryMs);
  try {
    const outcome = await new Promise<string | undefined>((resolve) => {
      child.once('error', (error) => resolve(error.message));
      child.once('close', (code, signal) => resolve(code === 0 ? undefined : `ended with ${code ?? signal}`));
    });
    if (outcome !== undefined) {
      throw new Error(`fetching ${title}: ${path.basename(command)} ${outcome}\n${lastLines.join('\n')}`);
    }
  } finally {
    clearInterval(progress);
  }
}

function seconds(startedAt: number): string {
  return ((Date.now() - startedAt) / 1000).toFixed(1);
}
