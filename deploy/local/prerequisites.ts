import { existsSync, statfsSync } from 'node:fs';
import { totalmem } from 'node:os';
import path from 'node:path';
import {
  findProgram,
  hasPip,
  javaFolder,
  javaOnPath,
  javaVersion,
  MissingPrerequisiteError,
  type ProgramStore,
} from './fetch.ts';

/** A program of the machine with which other programs are fetched. */
type Tool = 'maven' | 'pip' | 'tar';

/** What is fetched with a tool, and the settings that make this unnecessary. */
export interface ToolNeed {
  tool: Tool;
  what: string;
  instead: readonly string[];
}

const tools: Record<Tool, { name: string; apt: string; dnf: string; brew: string }> = {
  maven: { name: 'Maven (`mvn`) with Java', apt: 'maven', dnf: 'maven', brew: 'maven' },
  pip: { name: 'Python 3 with pip', apt: 'python3 python3-pip', dnf: 'python3 python3-pip', brew: 'python' },
  tar: { name: 'tar', apt: 'tar', dnf: 'tar', brew: 'gnu-tar' },
};

/** Free space for the data. A first start takes some 500 MB, and the demo grows by as much in a few hours. */
const leastDataBytes = 2 * 2 ** 30;
/** Free space for programs that must still be fetched. Together they have some 600 MB. */
const leastProgramsBytes = 2 ** 30;
/** The five engines and the product take some 2.5 GB. */
const leastMemoryBytes = 3 * 2 ** 30;

/** The tools with which a program is fetched into the store's folder `name`. None if this folder exists already. */
export function toFetch(
  store: ProgramStore,
  name: string,
  what: string,
  instead: readonly string[],
  ...needed: readonly Tool[]
): ToolNeed[] {
  if (existsSync(path.join(store.directory, name))) return [];
  return needed.map((tool) => ({ tool, what, instead }));
}

/** The tools that fetch a Java of at least this version. None if PATH or the store has one. */
export function javaNeeds(store: ProgramStore, minimumMajor: number, instead: readonly string[]): ToolNeed[] {
  const needs = toFetch(store, javaFolder, `Java ${javaVersion}`, instead, 'pip');
  return needs.length > 0 && javaOnPath(store, minimumMajor) !== undefined ? [] : needs;
}

/** What the checks read of the machine, so that tests can give other numbers. */
export interface Machine {
  /** Free bytes of the file system that holds the folder, or that will hold it once it is made. */
  freeDiskBytes(folder: string): number;
  /** The machine's memory in bytes, or the limit of the container if it is lower. */
  memoryBytes(): number;
}

const thisMachine: Machine = {
  freeDiskBytes(folder) {
    let existing = path.resolve(folder);
    while (!existsSync(existing)) existing = path.dirname(existing);
    const { bavail, bsize } = statfsSync(existing);
    return bavail * bsize;
  },
  memoryBytes() {
    // Without a limit, Node gives 0 or a number far above any memory.
    const limit = process.constrainedMemory() || Number.POSITIVE_INFINITY;
    return Math.min(totalmem(), limit);
  },
};

/**
 * Checks before anything is fetched or started that the machine has what the engines need, so that a person learns
 * everything that is missing at once. It takes less than a second.
 * @param needs what the engines that will start have to fetch
 * @param dataFolder the stack's folder
 * @throws MissingPrerequisiteError with all that is missing and the commands that install it
 */
export function requirePrerequisites(
  store: ProgramStore,
  needs: readonly ToolNeed[],
  dataFolder: string,
  machine: Machine = thisMachine,
): void {
  const lacking = [...new Set(needs.map(({ tool }) => tool))].filter((tool) => !isThere(store, tool));
  const problems = [
    ...lacking.map((tool) => missingTool(needs, tool)),
    ...spaceProblems(machine, dataFolder, needs.length > 0 ? store.directory : null),
  ];
  if (problems.length === 0) return;
  throw new MissingPrerequisiteError(
    [
      'this machine lacks what the local engines need:',
      ...problems.map((problem) => `  - ${problem}`),
      ...(lacking.length > 0 ? installLines(lacking, needs) : []),
    ].join('\n'),
  );
}

function isThere(store: ProgramStore, tool: Tool): boolean {
  if (tool === 'pip') return hasPip(store);
  if (tool === 'tar') return findProgram(store.searchPath, 'tar') !== undefined;
  const java = process.env.JAVA_HOME ?? findProgram(store.searchPath, 'java');
  return java !== undefined && findProgram(store.searchPath, 'mvn') !== undefined;
}

function missingTool(needs: readonly ToolNeed[], tool: Tool): string {
  const fetched = needs.filter((need) => need.tool === tool).map(({ what }) => what);
  return `${tools[tool].name}, to fetch ${[...new Set(fetched)].join(', ')} (once)`;
}

function installLines(lacking: readonly Tool[], needs: readonly ToolNeed[]): string[] {
  const packages = (system: 'apt' | 'dnf' | 'brew') => lacking.map((tool) => tools[tool][system]).join(' ');
  const instead = new Set(needs.filter(({ tool }) => lacking.includes(tool)).flatMap((need) => need.instead));
  return [
    'Install it with one of these commands, and start again:',
    `  Debian, Ubuntu: sudo apt-get install -y ${packages('apt')}`,
    `  Fedora:         sudo dnf install -y ${packages('dnf')}`,
    `  macOS:          brew install ${packages('brew')}`,
    `Or set ${[...instead].join(', ')} to engines that already run.`,
  ];
}

function spaceProblems(machine: Machine, dataFolder: string, programsFolder: string | null): string[] {
  const problems: string[] = [];
  const check = (folder: string, wanted: number, setting: string) => {
    const free = machine.freeDiskBytes(folder);
    if (free >= wanted) return;
    problems.push(
      `disk space: ${gigabytes(free)} free for ${folder}, ${gigabytes(wanted)} needed; ` +
        `free some, or set ${setting} to a folder on another disk`,
    );
  };
  check(dataFolder, leastDataBytes, 'PADRON_LOCAL_DIR');
  if (programsFolder !== null) check(programsFolder, leastProgramsBytes, 'PADRON_PROGRAMS_DIR');
  const memory = machine.memoryBytes();
  if (memory < leastMemoryBytes) {
    problems.push(
      `memory: ${gigabytes(memory)}, ${gigabytes(leastMemoryBytes)} needed; some engines may run on another machine`,
    );
  }
  return problems;
}

function gigabytes(bytes: number): string {
  return `${(bytes / 2 ** 30).toFixed(1)} GiB`;
}
