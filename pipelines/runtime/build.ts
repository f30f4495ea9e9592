import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Which release of the product runs. Start lines, traces and `padron --version` show it. */
export interface Build {
  /** The version in package.json. */
  version: string;
  /**
   * `PADRON_BUILD_ID` if the environment has it, as in an image. Otherwise the commit of the checkout, in which changes
   * that are not committed do not show.
   */
  build: string;
}

const unknown = 'unknown';
const gitTimeoutMs = 2_000;
const repositoryRoot = fileURLToPath(new URL('../..', import.meta.url));

/** Reads the release of the product in this folder. What cannot be found is "unknown", because nothing depends on it. */
export function readBuild(
  folder = repositoryRoot,
  environment: Record<string, string | undefined> = process.env,
): Build {
  return { version: versionIn(folder), build: environment.PADRON_BUILD_ID || commitOf(folder) };
}

function versionIn(folder: string): string {
  try {
    const { version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { version?: unknown };
    return typeof version === 'string' ? version : unknown;
  } catch {
    return unknown;
  }
}

/**
 * Names the folder's repository, because git by itself would also look in the folders above. A package that is
 * installed in somebody's project would then show the commit of that project.
 */
function commitOf(folder: string): string {
  const gitDirectory = join(folder, '.git');
  if (!existsSync(gitDirectory)) return unknown;
  try {
    const words = [`--git-dir=${gitDirectory}`, 'rev-parse', '--short=12', 'HEAD'];
    const stdio: ['ignore', 'pipe', 'ignore'] = ['ignore', 'pipe', 'ignore'];
    return execFileSync('git', words, { encoding: 'utf8', timeout: gitTimeoutMs, stdio }).trim() || unknown;
  } catch {
    return unknown;
  }
}
