import { z } from 'zod';
import { inOwnProcess, type JobProgram, type RunJob } from '../../runtime/job-process.ts';
import { StreamError, type StreamErrorCode } from '../kafka.ts';

/** What the producer process is told, one JSON document on its standard input. The end of the input ends the process. */
export const jobSchema = z.object({
  brokers: z.string(),
  topic: z.string(),
  edition: z.number().int().positive(),
  /** Of the schema that the change file carries. */
  schemaId: z.number().int(),
  partitions: z.number().int().positive(),
  changeFile: z.string(),
  sha256: z.string(),
  /** Rows in the file, as the catalogue says. */
  rows: z.number().int().nonnegative(),
  /** Blocks of the file that an earlier run saw acknowledged: counted, not sent again. */
  acknowledgedBlocks: z.number().int().nonnegative(),
  /** A chunk is sent once it has so many rows or bytes; it is larger by at most one block of the file. */
  rowsPerChunk: z.number().int().positive(),
  bytesPerChunk: z.number().int().positive(),
  /** Of every record. */
  recordHeaders: z.record(z.string(), z.string()),
  requestTimeoutMs: z.number().int().positive(),
  /** How often one chunk is sent anew, each time by a new producer, before the process gives up. */
  sendAttempts: z.number().int().positive(),
});
export type ProducerJob = z.infer<typeof jobSchema>;

const progressSchema = z.object({
  kind: z.literal('progress'),
  step: z.enum(['checking', 'sending']),
  /** Rows acknowledged so far, those of earlier runs included. */
  rows: z.number(),
  totalRows: z.number(),
  rowsPerSecond: z.number(),
  acknowledgedBlocks: z.number(),
});
export type ProducerProgress = z.infer<typeof progressSchema>;

/** What the producer process says, one JSON document a line on its standard output. */
const messageSchema = z.discriminatedUnion('kind', [
  progressSchema,
  z.object({
    kind: z.literal('done'),
    rows: z.number(),
    rowsByPartition: z.array(z.number()),
    cpuSeconds: z.number(),
  }),
  z.object({ kind: z.literal('failed'), code: z.string(), message: z.string(), retryable: z.boolean() }),
]);
export type ProducerMessage = z.infer<typeof messageSchema>;

export const producerProgram: JobProgram = {
  url: new URL('./main.ts', import.meta.url),
  // Chunks of a few thousand rows need far less.
  maxHeapMb: 256,
  // Nothing of the environment: the job says everything, and no secret belongs there.
  env: {},
};

export type ProducerDone = Extract<ProducerMessage, { kind: 'done' }>;

/**
 * Runs a job of the producer to its end, in a process of its own unless `run` says another. An aborted signal kills it.
 * @throws StreamError with the process's own code, or `producer_failed` when it ended without a word
 */
export async function runProducer(
  job: ProducerJob,
  report: (progress: ProducerProgress) => void,
  signal: AbortSignal,
  run: RunJob = inOwnProcess(producerProgram),
): Promise<ProducerDone> {
  const told = (line: unknown) => {
    const message = messageSchema.parse(line);
    if (message.kind === 'progress') report(message);
  };
  const { answer, end, errorText } = await run(job, told, signal);
  if (answer === null) {
    throw new StreamError('producer_failed', `the producer ended (${end}) ${errorText}`.trim(), { retryable: true });
  }
  const message = messageSchema.parse(answer);
  if (message.kind === 'done') return message;
  const { code, message: text, retryable } = message as Extract<ProducerMessage, { kind: 'failed' }>;
  throw new StreamError(code as StreamErrorCode, text, { retryable });
}
