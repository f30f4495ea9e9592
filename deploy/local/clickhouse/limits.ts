import { z } from 'zod';

/** Every limit of the process, with its unit. Passed down from main.ts; nothing below it has a limit of its own. */
export type Limits = { readonly [name in keyof typeof defaultLimits]: number };

export const defaultLimits = {
  /** Text of one query, in the address or in the body; also the address with all its parameters. */
  maxQueryBytes: 1_048_576,
  /** One insert body after decompression. */
  maxBodyBytes: 1_073_741_824,
  /** Result of a SELECT held in memory because the caller asked for wait_end_of_query. */
  maxHeldResultBytes: 268_435_456,
  /** Queries that run at once, by kind. Their sum plus kills must stay below the 16 threads of libuv. */
  maxReads: 4,
  maxStreams: 4,
  maxWrites: 2,
  maxCommands: 2,
  /** Queries that wait for a slot, and how long one waits. */
  maxWaiting: 2_000,
  maxWaitMs: 60_000,
  maxConcurrentUploads: 32,
  /** An upload or a reader that stands still for so long is given up. */
  uploadIdleTimeoutMs: 60_000,
  sendTimeoutMs: 60_000,
  keepAliveTimeoutMs: 10_000,
  /** On SIGTERM running queries may take so long before they are killed, and so long again before the process ends anyway. */
  drainTimeoutMs: 6_000,
  /** Idle engine connections kept, by (database, settings). */
  maxIdleConnections: 16,
  maxSessions: 16,
  sessionTimeoutMs: 60_000,
  maxSessionTimeoutMs: 3_600_000,
  /** The result pipe must be at its end so soon after the engine has said that the query is done. */
  pipeEndTimeoutMs: 5_000,
  /** A kill is repeated so often until the query has ended: it may not be in the engine's process list yet. */
  killRepeatMs: 100,
} as const;

/** libuv threads that the process needs; must be in the environment before the first thread starts. */
export const threadPoolSize = 16;

const names = Object.keys(defaultLimits) as (keyof Limits)[];

/** Limits given on the command line. */
export const limitsSchema = z.partialRecord(z.enum(names), z.number().int().positive());
