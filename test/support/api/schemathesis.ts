import { execFile } from 'node:child_process';
import { readLocalConfig } from '../../../deploy/local/config.ts';
import { fetchOnce, fetchWheel, findProgram, missing, type ProgramStore } from '../../../deploy/local/fetch.ts';

const version = '4.32.5';
/** All versions are fixed, so that every machine runs the same. */
const requirements = [
  `schemathesis==${version}`,
  'anyio==4.16.0',
  'certifi==2026.10.19.post1',
  'charset-normalizer==3.5.3',
  'click==8.5.1',
  'graphql-core==3.3.2',
  'harfile==0.6.0',
  'hypothesis==6.170.17',
  'hypothesis-graphql==0.13.5',
  'idna==3.20',
  'iniconfig==2.3.1',
  'jsonschema-rs==0.60.3',
  'markdown-it-py==4.3.0',
  'markupsafe==3.0.4',
  'mdurl==0.1.2',
  'packaging==26.4',
  'pluggy==1.7.0',
  'pygments==2.21.0',
  'pyrate-limiter==4.5.1',
  'pytest==9.2.0',
  'pyyaml==6.0.4',
  'requests==2.34.2',
  'rich==15.0.0',
  'sortedcontainers==2.4.0',
  'typing-extensions==4.16.0',
  'urllib3==2.8.0',
  'werkzeug==3.1.9',
];

export interface Finding {
  /** 0: no failure was found. */
  code: number;
  output: string;
}

/** Runs Schemathesis with python3 against a running API. It is downloaded once, beside the stack's programs. */
export async function runSchemathesis(args: readonly string[], folder: string, timeoutMs: number): Promise<Finding> {
  const { programsDirectory: directory, searchPath } = readLocalConfig();
  const store: ProgramStore = { directory, searchPath, log: console.log };
  const need = { what: 'Schemathesis', instead: [] };
  const program = findProgram(searchPath, 'python3', 'python');
  if (program === undefined) throw missing('Python 3', 'Debian: apt-get install python3 python3-pip', need);
  const packages = await fetchOnce(store, `schemathesis-${version}`, (to) => fetchWheel(store, need, requirements, to));
  const environment = { PATH: searchPath, HOME: folder, PYTHONPATH: packages, PYTHONDONTWRITEBYTECODE: '1' };
  return new Promise((resolve) => {
    const options = { cwd: folder, env: environment, timeout: timeoutMs, maxBuffer: 1 << 26 };
    execFile(program, ['-m', 'schemathesis.cli', 'run', ...args], options, (error, stdout, stderr) => {
      const code = error === null ? 0 : typeof error.code === 'number' ? error.code : -1;
      resolve({ code, output: `${stdout}${stderr}` });
    });
  });
}
