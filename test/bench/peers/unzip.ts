import { spawn } from 'node:child_process';
import { once } from 'node:events';

/** `unzip -p file.zip | wc -l`: no comparison at all, only the lines of the publication; gives their number. */
export async function countLinesWithUnzip(path: string): Promise<number> {
  const counter = spawn('sh', ['-c', 'unzip -p "$1" | wc -l', 'sh', path], { stdio: ['ignore', 'pipe', 'inherit'] });
  let output = '';
  counter.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
  });
  const [code] = (await once(counter, 'close')) as [number];
  if (code !== 0) throw new Error(`unzip ended with ${code}`);
  return Number(output);
}

/** Inflates a publication's text beside it, for peers that read no zips; not part of any timing. */
export async function inflateTo(path: string, textPath: string): Promise<void> {
  const inflater = spawn('sh', ['-c', 'unzip -p "$1" > "$2"', 'sh', path, textPath], { stdio: 'inherit' });
  const [code] = (await once(inflater, 'close')) as [number];
  if (code !== 0) throw new Error(`unzip ended with ${code}`);
}
