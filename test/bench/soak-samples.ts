import { readdirSync, readFileSync } from 'node:fs';
import type { Pool } from '../../pipelines/runtime/postgres.ts';
import { spreadOf } from './figures.ts';
import { ownProcesses } from './process-watch.ts';

/** What is sampled of each process, and by how much its median may grow from the second quarter to the last. */
const allowed = {
  // Node.js returns memory late, so less than 25 MB or a tenth is no growth.
  'memory MB': { share: 0.1, least: 25 },
  // Connections of keep-alive pools come and go.
  'open files': { share: 0.1, least: 5 },
} as const;
type Quantity = keyof typeof allowed;

const pageBytes = 4_096;
const pieces = 12;
const productProcesses = ['api', 'consumers', 'worker'];

/**
 * Samples memory and open files (connections included) of all processes, and the connections to PostgreSQL, so that
 * growth over a long run is seen. Linux only, because it reads /proc.
 */
export class SoakSamples {
  readonly #pool: Pool;
  /** Samples by `process quantity`, in order. */
  readonly #samples = new Map<string, number[]>();
  readonly #timer: NodeJS.Timeout;

  constructor(pool: Pool, everyMs: number) {
    this.#pool = pool;
    this.#timer = setInterval(() => void this.#sample(), everyMs);
  }

  /** Ends the samples and returns a line per curve, with a line per curve that grew. */
  stop(): { curves: string[]; growing: string[] } {
    clearInterval(this.#timer);
    const curves: string[] = [];
    const growing: string[] = [];
    for (const [name, values] of [...this.#samples].sort()) {
      if (values.length < pieces) continue;
      const medians = Array.from({ length: pieces }, (_, piece) =>
        medianOf(values, piece / pieces, (piece + 1) / pieces),
      );
      curves.push(`  ${name.padEnd(26)} ${medians.map((each) => each.toFixed(0).padStart(5)).join(' ')}`);
      if (grows(name, values)) growing.push(name);
    }
    return { curves, growing };
  }

  async #sample(): Promise<void> {
    for (const [name, pids] of ownProcesses()) {
      this.#add(`${name} memory MB`, sumOf(pids, residentMb));
      this.#add(`${name} open files`, sumOf(pids, openFiles));
    }
    const { rows } = await this.#pool
      .query<{ connections: number }>(
        'SELECT count(*)::int AS connections FROM pg_stat_activity WHERE datname IS NOT NULL',
      )
      .catch(() => ({ rows: [] }));
    if (rows[0] !== undefined) this.#add('postgres connections', rows[0].connections);
  }

  #add(name: string, value: number): void {
    this.#samples.set(name, [...(this.#samples.get(name) ?? []), value]);
  }
}

/** Only the product's own processes are judged: engines fill their caches as their settings allow. */
function grows(name: string, values: readonly number[]): boolean {
  const [process = '', ...rest] = name.split(' ');
  const isConnections = name === 'postgres connections';
  if (!productProcesses.includes(process) && !isConnections) return false;
  const { share, least } = isConnections ? allowed['open files'] : allowed[rest.join(' ') as Quantity];
  const early = medianOf(values, 0.25, 0.5);
  return medianOf(values, 0.75, 1) - early > Math.max(least, early * share);
}

function medianOf(values: readonly number[], from: number, to: number): number {
  return spreadOf(values.slice(Math.floor(values.length * from), Math.ceil(values.length * to))).median;
}

function sumOf(pids: readonly number[], of: (pid: number) => number): number {
  return pids.reduce((sum, pid) => sum + of(pid), 0);
}

/** Zero for a process that has just ended. */
function residentMb(pid: number): number {
  try {
    return (Number(readFileSync(`/proc/${pid}/statm`, 'utf8').split(' ')[1]) * pageBytes) / 1e6;
  } catch {
    return 0;
  }
}

function openFiles(pid: number): number {
  try {
    return readdirSync(`/proc/${pid}/fd`).length;
  } catch {
    return 0;
  }
}
