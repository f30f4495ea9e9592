import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import { readLocalConfig } from '../../deploy/local/config.ts';
import {
  fetchArtifacts,
  fetchOnce,
  fetchWheel,
  findProgram,
  mavenDependencyPluginVersion,
  type ProgramStore,
  runFetch,
} from '../../deploy/local/fetch.ts';

// The generators, each fetched once by the registry's own program into the folder of the local stack's programs.

/** Newer versions of hey-api need Node.js 22. */
export const versions = {
  'openapi-generator': '7.25.0',
  'oapi-codegen': '2.8.2',
  ogen: '1.24.0',
  'openapi-python-client': '0.29.1',
  'openapi-spec-validator': '0.9.0',
  'openapi-typescript': '7.13.0',
  orval: '8.38.0',
  'hey-api': '0.95.0',
} as const;

/** The Python generators, what they import, and what their clients and those of openapi-generator import. */
const wheels = [
  `openapi-python-client==${versions['openapi-python-client']}`,
  `openapi-spec-validator==${versions['openapi-spec-validator']}`,
  'annotated-doc==0.0.7',
  'annotated-types==0.8.0',
  'anyio==4.16.0',
  'attrs==26.1.0',
  'certifi==2026.10.19.post1',
  'h11==0.16.0',
  'httpcore==1.0.9',
  'httpx==0.28.1',
  'idna==3.20',
  'Jinja2==3.1.6',
  'jsonschema==4.26.0',
  'jsonschema-path==0.5.0',
  'jsonschema-specifications==2025.9.1',
  'lazy-object-proxy==1.13.0',
  'markdown-it-py==4.3.0',
  'MarkupSafe==3.0.4',
  'mdurl==0.1.2',
  'openapi-schema-validator==0.9.0',
  'pathable==0.6.0',
  'pydantic==2.14.4',
  'pydantic-settings==2.16.3',
  'pydantic_core==2.50.5',
  'Pygments==2.21.0',
  'python-dateutil==4.0.0',
  'python-dotenv==1.2.4',
  'PyYAML==6.0.4',
  'referencing==0.37.0',
  'rfc3339-validator==0.1.4',
  'rich==15.0.0',
  'rpds-py==2026.9.1',
  'ruamel.yaml==0.19.1',
  'shellingham==1.5.4',
  'six==1.17.0',
  'typer==0.27.3',
  'typing-inspection==0.4.5',
  'typing_extensions==4.16.0',
  'tzdata==2026.6',
  'urllib3==2.8.0',
];

/** The TypeScript generators, and what their clients import. They run with a compiler that is older than the project's. */
const npmPackages = [
  `openapi-typescript@${versions['openapi-typescript']}`,
  `orval@${versions.orval}`,
  `@hey-api/openapi-ts@${versions['hey-api']}`,
  '@types/node@20.19.43',
  'axios@1.21.1',
  'typescript@5.9.3',
  'zod@4.6.7',
];

/** A program of the machine is missing, so that a generator or its client cannot be tried. */
export class MissingProgram extends Error {
  override name = 'MissingProgram';
}

const { programsDirectory: directory, searchPath } = readLocalConfig();
const store: ProgramStore = { directory, searchPath, log: console.log };
const need = (what: string) => ({ what, instead: [] });

/** @throws MissingProgram */
export function programOf(...names: string[]): string {
  const found = findProgram(searchPath, ...names);
  if (found === undefined) throw new MissingProgram(`${names[0]} is not on PATH`);
  return found;
}

export interface RunOptions {
  cwd: string;
  environment?: Record<string, string>;
}

/** Runs a program and returns what it wrote to standard output. @throws Error with the end of all its output */
export async function run(program: string, args: readonly string[], options: RunOptions): Promise<string> {
  const env = { ...process.env, LC_ALL: 'C.UTF-8', ...options.environment };
  try {
    const { stdout } = await promisify(execFile)(program, args, { cwd: options.cwd, env, maxBuffer: 1 << 26 });
    return stdout;
  } catch (error) {
    const { stdout = '', stderr = '', message } = error as Error & { stdout?: string; stderr?: string };
    const lines = `${stdout}\n${stderr}`.trim().split('\n');
    throw new Error(
      `${path.basename(program)} ${args.slice(0, 3).join(' ')}: ${lines.slice(-40).join('\n') || message}`,
    );
  }
}

export async function python(args: readonly string[], options: RunOptions): Promise<string> {
  const program = programOf('python3', 'python');
  const folder = await fetchOnce(store, `client-generators-python-${versions['openapi-python-client']}`, (to) =>
    fetchWheel(store, need('Python generators of clients'), wheels, to),
  );
  const PYTHONPATH = [folder, options.cwd].join(path.delimiter);
  return run(program, args, { ...options, environment: { ...options.environment, PYTHONPATH } });
}

export async function openapiGenerator(args: readonly string[], options: RunOptions): Promise<string> {
  const java = programOf('java');
  programOf('mvn');
  const version = versions['openapi-generator'];
  const name = 'openapi-generator-cli';
  const folder = await fetchOnce(store, `${name}-${version}`, (to) =>
    fetchArtifacts(store, need(`${name} ${version}`), [{ group: 'org.openapitools', name, version, alone: true }], to),
  );
  return run(java, ['-jar', path.join(folder, `${name}-${version}.jar`), ...args], options);
}

/** Returns the folder with the jars that a generated Java project names. They are the same for each of its versions. */
export async function javaDependencies(project: string): Promise<string> {
  const maven = programOf('mvn');
  return fetchOnce(store, `openapi-java-client-${versions['openapi-generator']}`, (to) =>
    runFetch(store.log, 'what a generated Java client imports', maven, [
      '--batch-mode',
      ...['--file', path.join(project, 'pom.xml')],
      `org.apache.maven.plugins:maven-dependency-plugin:${mavenDependencyPluginVersion}:copy-dependencies`,
      '-DincludeScope=compile',
      `-DoutputDirectory=${to}`,
    ]),
  );
}

const goModules = {
  'oapi-codegen': `github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v${versions['oapi-codegen']}`,
  ogen: `github.com/ogen-go/ogen/cmd/ogen@v${versions.ogen}`,
};

export async function goTool(
  name: keyof typeof goModules,
  args: readonly string[],
  options: RunOptions,
): Promise<string> {
  const go = programOf('go');
  const folder = await fetchOnce(store, `${name}-${versions[name]}`, async (to) => {
    store.log(`${name}: fetching (first use only)`);
    await run(go, ['install', goModules[name]], { cwd: to, environment: { GOBIN: to } });
  });
  return run(path.join(folder, name), args, options);
}

/** Returns the folder with the TypeScript generators, in which `node_modules` is. */
export function npmTools(): Promise<string> {
  const npm = programOf('npm');
  const name = `client-generators-npm-${versions.orval}`;
  return fetchOnce(store, name, (to) =>
    runFetch(store.log, 'TypeScript generators of clients', npm, [
      'install',
      // orval asks for Node.js 22 and runs on 20.
      ...['--prefix', to, '--no-audit', '--no-fund', '--ignore-scripts', '--no-engine-strict'],
      ...npmPackages,
    ]),
  );
}
