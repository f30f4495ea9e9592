import { existsSync, readFileSync } from 'node:fs';
import type { Writable } from 'node:stream';
import type { Pool } from 'pg';
import pc from 'picocolors';
import { z } from 'zod';
import type { Actor } from '../../api/operators/audit.ts';
import { type ReplicaServer, replicasOf } from '../../pipelines/runtime/clickhouse.ts';
import { type ClickhouseConfiguration, databaseBlock, parseConfiguration } from '../../pipelines/runtime/config.ts';
import { makePool } from '../../pipelines/runtime/postgres.ts';
import { decodeUtf8 } from '../../pipelines/runtime/text-file.ts';

/** An error that the operator can mend. The message says what is wrong, the advice says what to do next. */
export class CommandError extends Error {
  override name = 'CommandError';
  readonly advice: string | undefined;
  readonly exitCode: number;
  constructor(message: string, advice?: string, exitCode = 1) {
    super(message);
    this.advice = advice;
    this.exitCode = exitCode;
  }
}

/** Exit code of a command that waited for work, when the work was quarantined, refused or cancelled instead of done. */
export const exitStopped = 2;

/** Every command takes `--json`, which prints one JSON document on standard output and nothing else. */
export interface OutputOptions {
  json?: boolean | undefined;
}

interface CommandSurroundings {
  environment: Record<string, string | undefined>;
  /** The file in which a running local stack publishes its addresses. */
  endpointsFile: string;
  stdout: Writable & { isTTY?: boolean };
  stderr: Writable;
}

/** What one run of the command works with: settings, the database pool, output, and what must be closed at the end. */
export class CommandContext {
  readonly #around: CommandSurroundings;
  readonly #closers: (() => Promise<unknown> | unknown)[] = [];
  #pool: Pool | undefined;
  /** Exit code of a command that did not throw. */
  exitCode = 0;
  /** Standard output. A command writes to it directly when the result is too large for one document. */
  readonly output: Writable;
  /** Colours for standard output. They are off when standard output is not a terminal or NO_COLOR is set. */
  readonly colours: ReturnType<typeof pc.createColors>;

  constructor(around: CommandSurroundings) {
    this.#around = around;
    this.output = around.stdout;
    this.colours = pc.createColors(around.stdout.isTTY === true && !around.environment.NO_COLOR);
  }

  /**
   * Reads the settings of a command from the environment. Missing settings are read from `endpointsFile`, which exists
   * only while a local stack runs.
   * @throws CommandError that names every missing or wrong setting
   */
  configuration<Schema extends z.ZodType>(schema: Schema): z.output<Schema> {
    const { environment, endpointsFile } = this.#around;
    const running = readEndpoints(endpointsFile);
    try {
      return parseConfiguration(schema, { ...running, ...environment });
    } catch (error) {
      if (!(error instanceof Error)) throw error;
      const advice = running
        ? `These are missing in the environment and in ${endpointsFile}: set them and run the command again.`
        : `No local stack runs here (no ${endpointsFile}): run \`npm start\` in another terminal, or set these variables.`;
      throw new CommandError(error.message, advice);
    }
  }

  /** The pool on the configured database. It opens at the first call and closes when the command ends. */
  pool(): Pool {
    if (this.#pool === undefined) {
      const pool = makePool(this.configuration(databaseBlock).DATABASE_URL, 'padron-cli', 2);
      this.onEnd(() => pool.end());
      this.#pool = pool;
    }
    return this.#pool;
  }

  /** Who acts, for the audit: the value of --by, or else the account of the machine that runs the command. */
  actor(by?: string): Actor {
    return { name: by?.trim() || this.#around.environment.USER || 'operator', way: 'command' };
  }

  /** Adds a function that closes something when the command ends. The function that was added last is called first. */
  onEnd(close: () => Promise<unknown> | unknown): void {
    this.#closers.push(close);
  }

  /** Prints the command's result: the document with `--json`, the lines without it. */
  show(options: OutputOptions, document: unknown, lines: string | readonly string[]): void {
    const text = options.json ? JSON.stringify(document) : typeof lines === 'string' ? lines : lines.join('\n');
    this.output.write(`${text}\n`);
  }

  /** Prints a list: with `--json` one document, without it a line per row, or the text `none` for an empty list. */
  showRows<Row>(options: OutputOptions, rows: readonly Row[], line: (row: Row) => string, none: string): void {
    this.show(options, rows, rows.length === 0 ? none : rows.map(line));
  }

  /** Prints progress or a remark on standard error, so that standard output stays one document. */
  note(text: string): void {
    this.#around.stderr.write(`${text}\n`);
  }

  async close(): Promise<void> {
    for (const close of this.#closers.reverse()) await close();
  }
}

/**
 * Returns the replica that the option --replica names, or all ClickHouse servers without it.
 * @throws CommandError when the configuration has no such replica
 */
export function wantedReplicas(config: ClickhouseConfiguration, name?: string): ReplicaServer[] {
  const all = replicasOf(config);
  const wanted = name === undefined ? all : all.filter((replica) => replica.name === name);
  if (wanted.length > 0) return wanted;
  const names = all.map((replica) => replica.name).join(', ');
  throw new CommandError(`There is no replica ${name}.`, `CLICKHOUSE_REPLICAS names: ${names}`);
}

/**
 * Returns undefined when no local stack runs. When the file is half-written or of an older release, the operator gets
 * advice and not a stack trace.
 */
function readEndpoints(file: string): Record<string, string> | undefined {
  if (!existsSync(file)) return undefined;
  try {
    const decoded = decodeUtf8(readFileSync(file));
    return z.record(z.string(), z.string()).parse(JSON.parse(decoded.ok ? decoded.text : ''));
  } catch {
    throw new CommandError(`${file} is not readable.`, 'Stop the local stack, run `npm start` again, then retry.');
  }
}
