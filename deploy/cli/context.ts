import { existsSync, readFileSync } from 'node:fs';
import type { Pool } from 'pg';
import pc from 'picocolors';
import { z } from 'zod';
import { databaseBlock, parseConfiguration } from '../../pipelines/runtime/config.ts';
import { makePool } from '../../pipelines/runtime/postgres.ts';

/** What a command cannot go on from, said to the person: what is wrong and, in `advice`, what to do next. */
export class CommandError extends Error {
  override name = 'CommandError';
  readonly advice: string | undefined;
  constructor(message: string, advice?: string) {
    super(message);
    this.advice = advice;
  }
}

/** Exit code of a command that waited and saw the work stopped, not done. */
export const exitStopped = 2;

/** Every command takes `--json`: one JSON document on standard output and nothing else. */
export interface OutputOptions {
  json?: boolean | undefined;
}

export interface CommandContext {
  /**
   * The settings a command needs, from the environment, else from the endpoints file of the local stack.
   * @throws CommandError that names what is missing
   */
  configuration<Schema extends z.ZodType>(schema: Schema): z.output<Schema>;
  /** A pool on the database of the configuration; closed when the command ends. */
  pool(): Pool;
  /** Something to close when the command ends, in reverse order. */
  onEnd(stop: () => Promise<unknown> | unknown): void;
  /** The command's result: the document with `--json`, else the lines for a person. */
  show(options: OutputOptions, document: unknown, lines: string | readonly string[]): void;
  /** For a result that is too large for a document: bytes as they are. */
  output: NodeJS.WritableStream;
  /** Progress and remarks: always standard error, so that standard output stays one document. */
  note(text: string): void;
  /** Colours of standard output, off when it is no terminal. */
  colours: ReturnType<typeof pc.createColors>;
}

export interface CommandSurroundings {
  environment: Record<string, string | undefined>;
  endpointsFile: string;
  stdout: NodeJS.WritableStream & { isTTY?: boolean };
  stderr: NodeJS.WritableStream & { isTTY?: boolean };
}

/** One context per run of the command; `close` releases all that its actions opened. */
export function makeContext(around: CommandSurroundings): CommandContext & { close(): Promise<void> } {
  const stops: (() => Promise<unknown> | unknown)[] = [];
  let pool: Pool | undefined;
  const context: CommandContext = {
    configuration: (schema) => readConfiguration(schema, around),
    pool() {
      if (!pool) {
        pool = makePool(context.configuration(databaseBlock).DATABASE_URL, 'padron-cli', 2);
        const opened = pool;
        stops.push(() => opened.end());
      }
      return pool;
    },
    onEnd: (stop) => void stops.push(stop),
    show(options, document, lines) {
      const text = options.json ? JSON.stringify(document) : typeof lines === 'string' ? lines : lines.join('\n');
      around.stdout.write(`${text}\n`);
    },
    output: around.stdout,
    note: (text) => void around.stderr.write(`${text}\n`),
    colours: pc.createColors(around.stdout.isTTY === true && !around.environment.NO_COLOR),
  };
  return {
    ...context,
    async close() {
      for (const stop of stops.reverse()) await stop();
    },
  };
}

function readConfiguration<Schema extends z.ZodType>(schema: Schema, around: CommandSurroundings): z.output<Schema> {
  const running = readEndpoints(around.endpointsFile);
  try {
    return parseConfiguration(schema, { ...running, ...around.environment });
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    const advice = running
      ? `These are missing in the environment and in ${around.endpointsFile}: set them and run the command again.`
      : `No local stack runs here (no ${around.endpointsFile}): run \`npm start\` in another terminal, or set these variables.`;
    throw new CommandError(error.message, advice);
  }
}

// The file of a stack that is just being written, or of an older release, is an error to be said, not a stack trace.
function readEndpoints(file: string): Record<string, string> | undefined {
  if (!existsSync(file)) return undefined;
  try {
    return z.record(z.string(), z.string()).parse(JSON.parse(readFileSync(file, 'utf8')));
  } catch {
    throw new CommandError(`${file} is not readable.`, 'Stop the local stack, run `npm start` again, then retry.');
  }
}
