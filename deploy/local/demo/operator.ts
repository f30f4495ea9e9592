import { spawn } from 'node:child_process';
import path from 'node:path';
import { repositoryRoot } from '../config.ts';

/**
 * Runs the operators' command as a person would, and returns the one JSON document that it prints.
 * @param onLine gets each line of its progress (standard error)
 * @throws Error with what the command said when it ends with another code than 0
 */
export async function padron<Answer>(
  words: readonly string[],
  environment: Record<string, string>,
  onLine: (line: string) => void = () => undefined,
): Promise<Answer> {
  const command = path.join(repositoryRoot, 'deploy', 'cli', 'padron.js');
  const child = spawn(process.execPath, [command, ...words, '--json'], {
    cwd: repositoryRoot,
    env: environment,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  let said = '';
  child.stdout.on('data', (chunk) => {
    output += chunk;
  });
  child.stderr.on('data', (chunk) => {
    said += chunk;
    for (const line of String(chunk).split(/[\r\n]+/)) if (line.trim() !== '') onLine(line);
  });
  const code = await new Promise<number>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (exitCode) => resolve(exitCode ?? 1));
  });
  if (code !== 0) throw new Error(`padron ${words.join(' ')} ended with ${code}:\n${said}${output}`);
  return JSON.parse(output) as Answer;
}
