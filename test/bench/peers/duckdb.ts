import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

export interface DuckDbFigures {
  seconds: number;
  cpuSeconds: number;
  peakRssBytes: number;
  inserted: number;
  updated: number;
  deleted: number;
}

/** Computes the same difference with DuckDB from two inflated texts, in a separate process. */
export async function compareWithDuckDb(oldText: string, newText: string): Promise<DuckDbFigures> {
  const script = fileURLToPath(new URL('./duckdb.child.ts', import.meta.url));
  const child = spawn(process.execPath, ['--import', 'tsx', script, oldText, newText], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
  });
  const [code] = (await once(child, 'close')) as [number];
  if (code !== 0) throw new Error(`DuckDB's process ended with ${code}`);
  return JSON.parse(output) as DuckDbFigures;
}
