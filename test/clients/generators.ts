import { copyFileSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { repositoryRoot } from '../../deploy/local/config.ts';
import {
  goTool,
  javaDependencies,
  npmTools,
  openapiGenerator,
  programOf,
  python,
  type RunOptions,
  run,
  versions,
} from './tools.ts';

export interface Job {
  /** An empty folder for the client. */
  folder: string;
  /** The OpenAPI document as JSON. */
  document: string;
  /** What a client's program gets: three RUCs, and the address and token of the running API. */
  program: { args: readonly string[]; environment: Record<string, string> };
}

/** A program that makes clients. A step that is left out cannot be done with what it makes. */
export interface Generator {
  name: string;
  version: string;
  generate(job: Job): Promise<unknown>;
  compile?(job: Job): Promise<unknown>;
  /** Runs a client that uses the generated code. Returns what it prints. */
  run?(job: Job): Promise<string>;
}

const programs = path.join(repositoryRoot, 'test', 'clients', 'programs');

function addProgram(job: Job, source: string, target: string): void {
  mkdirSync(path.dirname(path.join(job.folder, target)), { recursive: true });
  copyFileSync(path.join(programs, source), path.join(job.folder, target));
}

const here = ({ folder }: Job): RunOptions => ({ cwd: folder });
const withApi = ({ folder, program }: Job): RunOptions => ({ cwd: folder, environment: program.environment });

/** The options keep documentation and tests out, which would need packages of their own. */
function byOpenapiGenerator(
  language: string,
  properties: readonly string[],
  steps: Omit<Generator, keyof Named>,
): Generator {
  return {
    name: `openapi-generator ${language}`,
    version: versions['openapi-generator'],
    generate: (job) =>
      openapiGenerator(
        [
          ...['generate', '--generator-name', language, '--input-spec', job.document, '--output', job.folder],
          ...['--global-property', 'apiTests=false,modelTests=false,apiDocs=false,modelDocs=false'],
          ...['--additional-properties', ['hideGenerationTimestamp=true', ...properties].join(',')],
        ],
        here(job),
      ),
    ...steps,
  };
}
type Named = Pick<Generator, 'name' | 'version' | 'generate'>;

// Python

const importAll = `
import importlib, pkgutil, padron_client
for module in pkgutil.walk_packages(padron_client.__path__, "padron_client."):
    importlib.import_module(module.name)`;

async function compilePython(job: Job): Promise<void> {
  await python(['-m', 'compileall', '-q', 'padron_client'], here(job));
  await python(['-c', importAll], here(job));
}

const runPython = (source: string) => (job: Job) =>
  python([path.join(programs, source), ...job.program.args], withApi(job));

// Go

async function compileGo(job: Job): Promise<void> {
  const go = programOf('go');
  await run(go, ['mod', 'tidy'], here(job));
  await run(go, ['build', './...'], here(job));
}

const compileGoModule = async (job: Job): Promise<void> => {
  await run(programOf('go'), ['mod', 'init', 'example.pe/padron'], here(job));
  await compileGo(job);
};

const runGo = (job: Job) => run(programOf('go'), ['run', './cmd', ...job.program.args], withApi(job));

// Java

async function compileJava(job: Job): Promise<void> {
  const javac = programOf('javac');
  const jars = await javaDependencies(job.folder);
  addProgram(job, 'ReadRuc.java', 'src/main/java/ReadRuc.java');
  const sources = readdirSync(job.folder, { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('.java'),
  );
  await run(javac, ['-proc:none', '-nowarn', '-d', 'classes', '-cp', `${jars}/*`, ...sources], here(job));
}

async function runJava(job: Job): Promise<string> {
  const jars = await javaDependencies(job.folder);
  const classes = ['classes', `${jars}/*`].join(path.delimiter);
  return run(programOf('java'), ['-cp', classes, 'ReadRuc', ...job.program.args], withApi(job));
}

// TypeScript

const compilerOptions = {
  target: 'es2022',
  module: 'esnext',
  moduleResolution: 'bundler',
  lib: ['es2022', 'dom', 'dom.iterable'],
  types: ['node'],
  strict: true,
  noEmit: true,
  skipLibCheck: true,
};

/** Generated code finds the packages that it imports in `node_modules`. */
async function compileTypescript(job: Job): Promise<void> {
  const packages = path.join(await npmTools(), 'node_modules');
  symlinkSync(packages, path.join(job.folder, 'node_modules'));
  writeFileSync(path.join(job.folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['**/*.ts'] }));
  await npmTool('typescript/bin/tsc', ['--project', '.'], here(job));
}

async function npmTool(file: string, args: readonly string[], options: RunOptions): Promise<string> {
  return run(process.execPath, [path.join(await npmTools(), 'node_modules', file), ...args], options);
}

const compileWith = (source: string, target: string) => (job: Job) => {
  addProgram(job, source, target);
  return compileTypescript(job);
};

const runTypescript = (job: Job) =>
  run(process.execPath, ['--import', 'tsx', path.join(job.folder, 'read-ruc.ts'), ...job.program.args], {
    ...withApi(job),
    cwd: repositoryRoot,
  });

/** The generator knows neither type of the files of changes, and leaves out an operation with an unknown one. */
const pythonClientConfig = `post_hooks: []
content_type_overrides:
  application/x-ndjson: application/octet-stream
  application/vnd.apache.parquet: application/octet-stream
`;

const orvalOptions = (job: Job) => `export default {
  fetch: { input: ${JSON.stringify(job.document)}, output: { target: 'client.ts', client: 'fetch', mode: 'single' } },
  zod: { input: ${JSON.stringify(job.document)}, output: { target: 'zod.ts', client: 'zod', mode: 'single' } },
};\n`;

export const generators: readonly Generator[] = [
  {
    name: 'openapi-spec-validator',
    version: versions['openapi-spec-validator'],
    generate: (job) => python(['-m', 'openapi_spec_validator', job.document], here(job)),
  },
  {
    name: 'openapi-python-client',
    version: versions['openapi-python-client'],
    generate: (job) => {
      writeFileSync(path.join(job.folder, 'config.yml'), pythonClientConfig);
      const options = ['--meta', 'none', '--fail-on-warning', '--overwrite', '--config', 'config.yml'];
      const to = ['--path', job.document, '--output-path', 'padron_client'];
      return python(['-m', 'openapi_python_client', 'generate', ...to, ...options], here(job));
    },
    compile: compilePython,
    run: runPython('read_ruc_attrs.py'),
  },
  byOpenapiGenerator('python', ['packageName=padron_client'], {
    compile: compilePython,
    run: runPython('read_ruc.py'),
  }),
  byOpenapiGenerator('go', ['packageName=padron'], {
    compile: (job) => {
      addProgram(job, 'read_ruc.go', 'cmd/main.go');
      return compileGo(job);
    },
    run: runGo,
  }),
  byOpenapiGenerator('java', [], { compile: compileJava, run: runJava }),
  byOpenapiGenerator('php', [], {
    compile: async (job) => {
      const php = programOf('php');
      const sources = readdirSync(job.folder, { recursive: true, encoding: 'utf8' });
      for (const source of sources.filter((name) => name.endsWith('.php'))) await run(php, ['-l', source], here(job));
    },
  }),
  byOpenapiGenerator('csharp', [], { compile: (job) => run(programOf('dotnet'), ['build'], here(job)) }),
  byOpenapiGenerator('typescript-axios', [], {
    compile: compileWith('read-ruc-axios.ts.txt', 'read-ruc.ts'),
    run: runTypescript,
  }),
  {
    name: 'oapi-codegen',
    version: versions['oapi-codegen'],
    generate: (job) => {
      const options = ['-generate', 'types,client', '-package', 'padron', '-o', 'padron.gen.go'];
      return goTool('oapi-codegen', [...options, job.document], here(job));
    },
    compile: (job) => {
      addProgram(job, 'read_ruc_oapi.go', 'cmd/main.go');
      return compileGoModule(job);
    },
    run: runGo,
  },
  {
    name: 'ogen',
    version: versions.ogen,
    generate: (job) => goTool('ogen', ['--target', '.', '--package', 'padron', job.document], here(job)),
    compile: compileGoModule,
  },
  {
    name: 'openapi-typescript',
    version: versions['openapi-typescript'],
    generate: (job) => npmTool('openapi-typescript/bin/cli.js', [job.document, '--output', 'schema.ts'], here(job)),
    compile: compileTypescript,
  },
  {
    name: 'orval',
    version: versions.orval,
    generate: (job) => {
      writeFileSync(path.join(job.folder, 'orval.config.mjs'), orvalOptions(job));
      return npmTool('orval/dist/bin/orval.mjs', ['--config', 'orval.config.mjs'], here(job));
    },
    compile: compileWith('read-ruc-zod.ts.txt', 'read-ruc.ts'),
    run: runTypescript,
  },
  {
    name: 'hey-api',
    version: versions['hey-api'],
    generate: (job) =>
      npmTool('@hey-api/openapi-ts/bin/run.js', ['--input', job.document, '--output', 'client'], here(job)),
    compile: compileTypescript,
  },
];
