import { readLocalConfig } from '../../../deploy/local/config.ts';
import { fetchOnce, fetchWheel, findProgram, missing, type ProgramStore } from '../../../deploy/local/fetch.ts';

const packages = { fastavro: '1.13.1', 'kafka-python': '3.0.12', standardwebhooks: '1.1.0' } as const;

export interface Python {
  program: string;
  environment: Record<string, string | undefined>;
}

/**
 * python3 with packages from PyPI, fetched once into the stack's programs. The machine's own packages stay as they are.
 */
export async function pythonWithPackages(...names: (keyof typeof packages)[]): Promise<Python> {
  const { programsDirectory: directory, searchPath } = readLocalConfig();
  const store: ProgramStore = { directory, searchPath, log: console.log };
  const need = { what: 'the tests in Python', instead: [] };
  const program = findProgram(searchPath, 'python3', 'python');
  if (program === undefined) throw missing('Python 3', 'Debian: apt-get install python3 python3-pip', need);
  const folders: string[] = [];
  for (const name of names) {
    const version = packages[name];
    const requirement = `${name}==${version}`;
    folders.push(await fetchOnce(store, `${name}-${version}`, (to) => fetchWheel(store, need, requirement, to)));
  }
  return { program, environment: { PATH: searchPath, PYTHONPATH: folders.join(':'), PYTHONDONTWRITEBYTECODE: '1' } };
}
