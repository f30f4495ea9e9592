import { spawn } from 'node:child_process';
import path from 'node:path';
import { repositoryRoot } from '../../../deploy/local/config.ts';
import { waitUntil } from '../../../deploy/local/demo/output.ts';
import type { ProcessName } from '../../../deploy/local/product.ts';

/** One of the product's processes, with its log. */
export interface RunningProcess {
  /** Address of the api's public port. The other two have none, and theirs is the health port. */
  url: string;
  /** Address of /healthz, /readyz and /metrics. */
  healthUrl: string;
  pid: number;
  /** Everything that it wrote to stdout and stderr so far. */
  output(): string;
  /** Sends SIGTERM and resolves with the exit code, which is null after a signal that killed it. */
  stop(): Promise<number | null>;
}

const programs: Record<ProcessName, string> = {
  api: 'api/main.ts',
  consumers: 'pipelines/consumers/main.ts',
  worker: 'workflows/main.ts',
};

/**
 * Starts a process on free ports. Resolves when its ports are open.
 * @param environment the whole environment but PATH
 * @param preloads modules that the process loads before its own code
 */
export async function startProcess(
  name: ProcessName,
  environment: Record<string, string>,
  preloads: readonly string[] = [],
): Promise<RunningProcess> {
  const imports = ['tsx', ...preloads].flatMap((each) => ['--import', each]);
  const child = spawn(process.execPath, [...imports, path.join(repositoryRoot, programs[name])], {
    cwd: repositoryRoot,
    env: { PATH: process.env.PATH ?? '', ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
  let output = '';
  const [port, healthPort] = await new Promise<[string, string]>((resolve, reject) => {
    let found = false;
    const keep = (chunk: Buffer) => {
      output += chunk;
      // Searching the growing text at every chunk would cost a bench more than its calls.
      if (found) return;
      const listening = /(?:"port":(\d+),)?"healthPort":(\d+),"msg":"listening"/.exec(output);
      found = listening !== null;
      if (listening) resolve([listening[1] ?? listening[2]!, listening[2]!]);
    };
    child.stdout.on('data', keep);
    child.stderr.on('data', keep);
    void ended.then((code) => reject(new Error(`the ${name} ended with ${code}:\n${output}`)));
  });
  return {
    url: `http://127.0.0.1:${port}`,
    healthUrl: `http://127.0.0.1:${healthPort}`,
    pid: child.pid!,
    output: () => output,
    stop: () => {
      child.kill('SIGTERM');
      return ended;
    },
  };
}

/** The first log lines at level error, which say why a request failed. */
export function errorLines({ output }: Pick<RunningProcess, 'output'>): string[] {
  const lines = output().split('\n');
  return lines.filter((line) => line.startsWith('{"level":"error"')).slice(0, maxErrorLines);
}

const maxErrorLines = 10;

export async function isReady({ healthUrl }: Pick<RunningProcess, 'healthUrl'>): Promise<boolean> {
  const answer = await fetch(`${healthUrl}/readyz`).catch(() => null);
  await answer?.body?.cancel();
  return answer?.status === 200;
}

export async function untilReady(process: RunningProcess): Promise<void> {
  if (!(await waitUntil(() => isReady(process), 120_000))) throw new Error(`not ready:\n${process.output()}`);
}
