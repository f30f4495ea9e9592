import { spawn } from 'node:child_process';
import { once } from 'node:events';

export interface UnzipFigures {
  lines: number;
  seconds: number;
  cpuSeconds: number;
}

/** Runs `unzip -p file.zip | wc -l`, which compares nothing and only counts the publication's lines. */
export async function countLinesWithUnzip(path: string): Promise<UnzipFigures> {
  const started = performance.now();
  // The second line of `times` shows the CPU time of the shell's children.
  const script = 'unzip -p "$1" | wc -l; times';
  const counter = spawn('sh', ['-c', script, 'sh', path], { stdio: ['ignore', 'pipe', 'inherit'] });
  let output = '';
  counter.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
  });
  const [code] = (await once(counter, 'close')) as [number];
  if (code !== 0) throw new Error(`unzip ended with ${code}`);
  const seconds = (performance.now() - started) / 1000;
  const [lines, , children] = output.trim().split('\n');
  const used = [...children!.matchAll(/(\d+)m([\d.]+)s/g)].map(
    ([, minutes, rest]) => Number(minutes) * 60 + Number(rest),
  );
  return { lines: Number(lines), seconds, cpuSeconds: used.reduce((sum, one) => sum + one, 0) };
}

/** Inflates a publication's text beside it, for peers that read no zips. No timing includes it. */
export async function inflateTo(path: string, textPath: string): Promise<void> {
  const inflater = spawn('sh', ['-c', 'unzip -p "$1" > "$2"', 'sh', path, textPath], { stdio: 'inherit' });
  const [code] = (await once(inflater, 'close')) as [number];
  if (code !== 0) throw new Error(`unzip ended with ${code}`);
}
