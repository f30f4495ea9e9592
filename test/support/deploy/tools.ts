import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { copyFileSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { readLocalConfig } from '../../../deploy/local/config.ts';
import { fetchOnce, findProgram, type ProgramStore, runFetch } from '../../../deploy/local/fetch.ts';

// The programs that check what an operator installs. Each is taken from PATH, or fetched once by the registry's own
// client into the folder of the local stack's programs. Nothing is installed on the machine.

const { programsDirectory: directory, searchPath, environment } = readLocalConfig();
export const store: ProgramStore = { directory, searchPath, log: console.log };

/** This machine cannot have the tool, so that what it would check stays unchecked. */
export class MissingTool extends Error {
  override name = 'MissingTool';
}

/** Versions and checksums of the Go tools are in go-tools/go.mod and go.sum. */
const goTools = fileURLToPath(new URL('go-tools', import.meta.url));
const goNames = ['helm', 'helm-unittest', 'kubeconform', 'compose', 'kube-score'] as const;
const debianNames = { promtool: 'usr/bin/promtool' } as const;
/** kube-score needs older packages of Kubernetes than the others. */
const kubeScore = 'github.com/zegl/kube-score/cmd/kube-score@v1.20.0';
type GoTool = (typeof goNames)[number];
type DebianTool = keyof typeof debianNames;
const packageOf: Record<DebianTool, string> = { promtool: 'prometheus' };

export interface ToolContext {
  skip(note: string): never;
}

/** Returns the path of a tool. @param context the first argument of the test (see `unlessMissing`) */
export function toolFor(context: ToolContext, tool: GoTool | DebianTool): Promise<string> {
  return unlessMissing(context, tool, () => (isGoTool(tool) ? goTool(tool) : debianTool(tool)));
}

/**
 * On a machine that cannot have a tool the test is skipped, and the reason names the tool. With
 * PADRON_DEPLOY_TOOLS=required the test fails instead.
 */
export async function unlessMissing<T>(context: ToolContext, tool: string, make: () => Promise<T>): Promise<T> {
  try {
    return await make();
  } catch (error) {
    if (!(error instanceof MissingTool) || environment.PADRON_DEPLOY_TOOLS === 'required') throw error;
    return context.skip(`${tool} is missing: ${error.message}`);
  }
}

function isGoTool(tool: GoTool | DebianTool): tool is GoTool {
  return goNames.some((name) => name === tool);
}

/** The Go tools are compiled together, because they share most of their packages. They take some five minutes of CPU. */
async function goTool(tool: GoTool): Promise<string> {
  const sums = readFileSync(path.join(goTools, 'go.sum'));
  const hash = createHash('sha256').update(sums).update(kubeScore).digest('hex').slice(0, 12);
  const folder = await fetchOnce(store, `deploy-go-tools-${hash}`, async (to) => {
    const go = programOnPath('go', 'go (1.26 or newer) is not on PATH');
    const env = programOnPath('env', 'env is not on PATH');
    const install = async (what: string, where: string) => {
      const variables = [`GOBIN=${to}`, 'GOFLAGS=-mod=readonly'];
      await runFetch(store.log, `go install ${what}`, env, [
        '-C',
        where,
        ...variables,
        go,
        'install',
        '-ldflags=-s -w',
        what,
      ]);
    };
    const moduleFolder = path.join(to, 'module');
    mkdirSync(moduleFolder);
    for (const file of ['go.mod', 'go.sum']) copyFileSync(path.join(goTools, file), path.join(moduleFolder, file));
    await install('tool', moduleFolder);
    await install(kubeScore, to);
    renameSync(path.join(to, 'cmd'), path.join(to, 'compose'));
  });
  return path.join(folder, tool);
}

async function debianTool(tool: DebianTool): Promise<string> {
  const onPath = findProgram(searchPath, tool);
  if (onPath !== undefined) return onPath;
  const folder = await fetchOnce(store, `deploy-debian-${packageOf[tool]}`, (to) => fetchDebian([packageOf[tool]], to));
  return path.join(folder, debianNames[tool]);
}

/** Unpacks Debian packages and those that they need and the machine lacks. Needs no rights and installs nothing. */
export async function fetchDebian(packages: readonly string[], to: string): Promise<void> {
  const apt = programOnPath('apt-get', 'apt-get is not on PATH');
  const dpkg = programOnPath('dpkg-deb', 'dpkg-deb is not on PATH');
  const archives = path.join(to, 'archives');
  const lists = path.join(to, 'lists');
  for (const folder of [archives, lists]) mkdirSync(path.join(folder, 'partial'), { recursive: true });
  const own = ['-o', `Dir::Cache=${archives}`, '-o', `Dir::Cache::archives=${archives}`, '-o', 'Debug::NoLocking=1'];
  const download = ['install', '--download-only', '--yes', '--no-install-recommends', ...packages];
  const title = `Debian packages ${packages.join(', ')}`;
  try {
    await runFetch(store.log, title, apt, [...own, ...download]);
  } catch {
    // The machine's lists may name versions that Debian has replaced since.
    const fresh = [...own, '-o', `Dir::State::lists=${lists}`];
    await runFetch(store.log, 'lists of Debian packages', apt, [...fresh, 'update']);
    await runFetch(store.log, title, apt, [...fresh, ...download]);
  }
  for (const name of readdirSync(archives).filter((each) => each.endsWith('.deb'))) {
    await run(dpkg, ['-x', path.join(archives, name), to]);
  }
  for (const folder of [archives, lists]) rmSync(folder, { recursive: true, force: true });
}

/** @throws MissingTool */
export function programOnPath(name: string, missing: string): string {
  const found = findProgram(searchPath, name);
  if (found === undefined) throw new MissingTool(missing);
  return found;
}

export interface Outcome {
  code: number;
  /** Standard output, then standard error. */
  output: string;
  stdout: string;
}

/** Runs a program to its end. A code other than 0 is an outcome, not an error. */
export async function tryRun(
  program: string,
  args: readonly string[],
  options: { cwd?: string; environment?: Record<string, string> } = {},
): Promise<Outcome> {
  const env = { ...process.env, LC_ALL: 'C.UTF-8', ...options.environment };
  try {
    const { stdout, stderr } = await promisify(execFile)(program, args, {
      env,
      maxBuffer: 1 << 26,
      ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
    });
    return { code: 0, stdout, output: stdout + stderr };
  } catch (error) {
    const { code, stdout = '', stderr = '' } = error as { code?: unknown; stdout?: string; stderr?: string };
    if (typeof code !== 'number') throw error;
    return { code, stdout, output: stdout + stderr };
  }
}

/** Runs a program and returns its standard output. @throws Error with the end of its output when it fails */
export async function run(...[program, args, options]: Parameters<typeof tryRun>): Promise<string> {
  const { code, stdout, output } = await tryRun(program, args, options);
  if (code === 0) return stdout;
  const end = output.trimEnd().split('\n').slice(-60).join('\n');
  throw new Error(`${path.basename(program)} ${args.slice(0, 3).join(' ')} ended with ${code}:\n${end}`);
}
