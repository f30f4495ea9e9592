import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type RunningApi, startApi } from './process.ts';

const preload = new URL('movable-clock.ts', import.meta.url).href;
/** Time after which every process has seen a move, since movable-clock.ts reads every 20 ms. */
const seenMs = 60;

/** API processes whose clocks the test moves forward together. */
export interface MovableApis {
  apis: readonly RunningApi[];
  /** The time of the processes' clock. */
  nowMs(): number;
  /** Moves both clocks of each process. The database's clock stays. */
  moveOn(milliseconds: number): Promise<void>;
  stop(): Promise<void>;
}

/** @param startMs the time that the processes' clocks show at the start */
export async function startMovableApis(
  count: number,
  environment: Record<string, string>,
  startMs = Date.now(),
): Promise<MovableApis> {
  const folder = mkdtempSync(path.join(tmpdir(), 'padron-clock-'));
  const file = path.join(folder, 'shift.json');
  const shift = { wallMs: startMs - Date.now(), monotonicMs: 0 };
  const write = () => {
    writeFileSync(`${file}.new`, JSON.stringify(shift));
    renameSync(`${file}.new`, file);
  };
  write();
  const apis = await Promise.all(
    Array.from({ length: count }, () => startApi({ ...environment, CLOCK_FILE: file }, [preload])),
  );
  return {
    apis,
    nowMs: () => Date.now() + shift.wallMs,
    async moveOn(milliseconds) {
      shift.wallMs += milliseconds;
      shift.monotonicMs += milliseconds;
      write();
      await sleep(seenMs);
    },
    async stop() {
      await Promise.all(apis.map((api) => api.stop()));
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
