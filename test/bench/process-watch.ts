import { readdirSync, readFileSync } from 'node:fs';
import { processName } from './process-names.ts';

export interface ProcessFigures {
  cpuSeconds: number;
  peakRssMb: number;
  /** The resident memory of all processes with this name, at each sample in order. */
  rssMb: number[];
}

interface Seen {
  parent: number;
  command: string;
  ticks: number;
  rssBytes: number;
}

const ticksPerSecond = 100;
const pageBytes = 4096;
const sampleMs = 500;

/**
 * Measures CPU and memory of this process and all its descendants over time, read from /proc (Linux). Processes with
 * the same name are added up.
 */
export class ProcessWatch {
  readonly #ticks = new Map<number, { name: string; ticks: number; first: number }>();
  readonly #samples = new Map<string, number[]>();
  readonly #timer: NodeJS.Timeout;
  #count = 0;

  constructor() {
    this.#sample();
    this.#timer = setInterval(() => this.#sample(), sampleMs);
  }

  /** The CPU seconds used since the watch began, by name. */
  cpu(): Map<string, number> {
    const result = new Map<string, number>();
    for (const { name, ticks, first } of this.#ticks.values()) {
      result.set(name, (result.get(name) ?? 0) + (ticks - first) / ticksPerSecond);
    }
    return result;
  }

  stop(): Map<string, ProcessFigures> {
    clearInterval(this.#timer);
    this.#sample();
    const cpu = this.cpu();
    return new Map(
      [...this.#samples].map(([name, rssMb]) => [
        name,
        { cpuSeconds: cpu.get(name) ?? 0, peakRssMb: Math.max(...rssMb), rssMb },
      ]),
    );
  }

  #sample(): void {
    const all = readAll();
    const mine = descendantsOf(process.pid, all);
    const rss = new Map<string, number>();
    for (const pid of mine) {
      const { command, ticks, rssBytes } = all.get(pid)!;
      const known = this.#ticks.get(pid);
      const name = known?.name ?? processName(command);
      // A process older than the watch counts from now on.
      this.#ticks.set(pid, { name, ticks, first: known?.first ?? (this.#count === 0 ? ticks : 0) });
      rss.set(name, (rss.get(name) ?? 0) + rssBytes / 1e6);
    }
    for (const [name, megabytes] of rss) {
      const samples = this.#samples.get(name) ?? new Array(this.#count).fill(0);
      samples.push(megabytes);
      this.#samples.set(name, samples);
    }
    this.#count += 1;
    for (const samples of this.#samples.values()) if (samples.length < this.#count) samples.push(0);
  }
}

/** Process ids of this process and all its descendants, by name. */
export function ownProcesses(): Map<string, number[]> {
  const all = readAll();
  const found = new Map<string, number[]>();
  for (const pid of descendantsOf(process.pid, all)) {
    const name = processName(all.get(pid)!.command);
    found.set(name, [...(found.get(name) ?? []), pid]);
  }
  return found;
}

function readAll(): Map<number, Seen> {
  const all = new Map<number, Seen>();
  for (const entry of readdirSync('/proc')) {
    if (!/^\d+$/.test(entry)) continue;
    try {
      const stat = readFileSync(`/proc/${entry}/stat`, 'utf8');
      const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      const command = readFileSync(`/proc/${entry}/cmdline`, 'utf8').replaceAll('\0', ' ');
      const ticks = Number(fields[11]) + Number(fields[12]);
      all.set(Number(entry), { parent: Number(fields[1]), command, ticks, rssBytes: Number(fields[21]) * pageBytes });
    } catch {
      // The process ended while it was being read.
    }
  }
  return all;
}

function descendantsOf(root: number, all: ReadonlyMap<number, Seen>): number[] {
  const children = new Map<number, number[]>();
  for (const [pid, { parent }] of all) children.set(parent, [...(children.get(parent) ?? []), pid]);
  const found: number[] = [];
  const queue = [root];
  for (let pid = queue.pop(); pid !== undefined; pid = queue.pop()) {
    if (all.has(pid)) found.push(pid);
    queue.push(...(children.get(pid) ?? []));
  }
  return found;
}
