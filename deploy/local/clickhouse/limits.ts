import { z } from 'zod';

/** Every limit of the process: bytes, milliseconds or a count, as its name says. main.ts passes them down. */
export type Limits = { readonly [name in keyof typeof defaultLimits]: number };

export const defaultLimits = {
  /** Length of one query text in the URL or body, and of the URL with all its parameters. */
  maxQueryBytes: 1_048_576,
  /** Length of one insert body. */
  maxBodyBytes: 1_073_741_824,
  /** Length of a SELECT's result that is held in memory because the caller asked for wait_end_of_query. */
  maxHeldResultBytes: 268_435_456,
  /**
   * Largest number of queries of each kind that run at once. The sum of these four limits (4 + 4 + 2 + 2 = 12) must
   * stay below libuv's 16 threads. Otherwise no thread is left to kill a query.
   */
  maxReads: 4,
  maxStreams: 4,
  maxWrites: 2,
  maxCommands: 2,
  /** How many queries may wait for a slot of one kind, and for how long. */
  maxWaiting: 2_000,
  maxWaitMs: 60_000,
  maxConcurrentUploads: 32,
  /** An upload that brings no new bytes is given up after this time. */
  uploadIdleTimeoutMs: 60_000,
  /** A result that its client does not read is given up after this time. */
  sendTimeoutMs: 60_000,
  keepAliveTimeoutMs: 10_000,
  /** Time for queries to end after SIGTERM. Then they are killed, and after the same time again the process ends. */
  drainTimeoutMs: 6_000,
  /** Number of unused engine connections that are kept. */
  maxIdleConnections: 16,
  /** After the engine reported the end of a query, its result pipe must bring more bytes or end within this time. */
  pipeEndTimeoutMs: 5_000,
  /** Time between two kills of one query. A kill is repeated because the engine may not list the query yet. */
  killRepeatMs: 100,
} as const;

/** Number of libuv threads. The process must be started with it in UV_THREADPOOL_SIZE, which libuv reads only once. */
export const threadPoolSize = 16;

const names = Object.keys(defaultLimits) as (keyof Limits)[];

/** Limits given on the command line with `--limits`. */
export const limitsSchema = z.partialRecord(z.enum(names), z.number().int().positive());
