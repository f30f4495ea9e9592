import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { CommanderError } from 'commander';
import { expect } from 'vitest';
import { PadronCommand } from '../../../deploy/cli/arguments.ts';
import { CommandContext, CommandError } from '../../../deploy/cli/context.ts';
import { explain } from '../../../deploy/cli/failures.ts';
import { addNouns } from '../../../deploy/cli/nouns.ts';
import { repositoryRoot } from '../../../deploy/local/config.ts';

export interface CommandResult {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** Starts `padron` as an operator does. It gets this environment and PATH, nothing else. */
export function startPadron(words: readonly string[], environment: Record<string, string>) {
  return spawn(process.execPath, ['deploy/cli/padron.js', ...words], {
    cwd: repositoryRoot,
    env: { PATH: process.env.PATH ?? '', ...environment },
  });
}

/** Runs `padron` as a process to its end. */
export function runPadron(words: readonly string[], environment: Record<string, string>): Promise<CommandResult> {
  return new Promise((resolve) => {
    const child = startPadron(words, environment);
    let stdout = '';
    let stderr = '';
    child.stdout.on('data', (chunk) => {
      stdout += chunk;
    });
    child.stderr.on('data', (chunk) => {
      stderr += chunk;
    });
    child.once('close', (code) => resolve({ code, stdout, stderr }));
  });
}

/** Runs a command of `padron` in this process, which saves the second that starting Node takes. */
export async function runCommand(
  words: readonly string[],
  environment: Record<string, string>,
): Promise<CommandResult> {
  const [stdout, stderr] = [new Sink(), new Sink()];
  const endpointsFile = join(environment.PADRON_LOCAL_DIR ?? '', 'run', 'endpoints.json');
  const context = new CommandContext({ environment, endpointsFile, stdout, stderr });
  const program = new PadronCommand('padron').exitOverride().configureOutput({
    writeOut: (text) => stdout.write(text),
    writeErr: (text) => stderr.write(text),
  });
  let code = 0;
  try {
    await addNouns(program, context, words[0]);
    await program.parseAsync([...words], { from: 'user' });
    code = context.exitCode;
  } catch (error) {
    code = error instanceof CommanderError || error instanceof CommandError ? error.exitCode : 1;
    if (!(error instanceof CommanderError)) stderr.write(`${explain(error)}\n`);
  } finally {
    await context.close();
  }
  return { code, stdout: stdout.text, stderr: stderr.text };
}

class Sink extends Writable {
  text = '';
  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.text += chunk.toString();
    done();
  }
}

/** Runs a command with --json, and checks that it prints one document and nothing else. */
export async function padronDocument<Answer>(
  words: readonly string[],
  environment: Record<string, string>,
  run = runPadron,
): Promise<Answer> {
  const { code, stdout, stderr } = await run([...words, '--json'], environment);
  expect({ code, stderr, lines: stdout.trimEnd().split('\n').length }).toEqual({ code: 0, stderr: '', lines: 1 });
  return JSON.parse(stdout) as Answer;
}
