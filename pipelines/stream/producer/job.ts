import { z } from 'zod';
import { inOwnProcess, type JobProgram, type RunJob } from '../../runtime/job-process.ts';
import { kafkaConnectionSchema } from '../../runtime/kafka/connection.ts';
import { StreamError, type StreamErrorCode } from '../kafka.ts';

/** A job. The producer process gets it as one JSON line on standard input, and ends when standard input closes. */
export const jobSchema = z.object({
  connection: kafkaConnectionSchema,
  topic: z.string(),
  edition: z.number().int().positive(),
  /** Registry id of the schema in the change file. */
  schemaId: z.number().int(),
  partitions: z.number().int().positive(),
  changeFile: z.string(),
  sha256: z.string(),
  /** Number of rows in the file according to the catalogue. */
  rows: z.number().int().nonnegative(),
  /** How many blocks Kafka acknowledged in an earlier run. They are counted but not sent again. */
  acknowledgedBlocks: z.number().int().nonnegative(),
  recordHeaders: z.record(z.string(), z.string()),
});
export type ProducerJob = z.infer<typeof jobSchema>;

const progressSchema = z.object({
  kind: z.literal('progress'),
  step: z.enum(['checking', 'sending']),
  /** Rows acknowledged so far, including those of earlier runs. */
  rows: z.number(),
  totalRows: z.number(),
  rowsPerSecond: z.number(),
  acknowledgedBlocks: z.number(),
});
export type ProducerProgress = z.infer<typeof progressSchema>;

/** A message of the producer process: one JSON line on standard output. */
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
  // The process holds a few thousand rows at a time, which need far less than this.
  maxHeapMb: 256,
  // The job has everything that the process needs, so the process gets no environment variables and no secrets.
  env: {},
};

export type ProducerDone = Extract<ProducerMessage, { kind: 'done' }>;

/**
 * Runs a producer job to its end. If `signal` is aborted, the process of the job is killed.
 * @param run by default a new process per job
 * @throws StreamError with the code that the process sent, or `producer_failed` if it ended without an answer
 */
export async function runProducer(
  job: ProducerJob,
  report: (progress: ProducerProgress) => void,
  signal: AbortSignal,
  run: RunJob = inOwnProcess(producerProgram),
): Promise<ProducerDone> {
  const onMessage = (line: unknown) => {
    const message = messageSchema.parse(line);
    if (message.kind === 'progress') report(message);
  };
  const { answer, end, errorText } = await run(job, onMessage, signal);
  if (answer === null) {
    throw new StreamError('producer_failed', `the producer ended (${end}) ${errorText}`.trim(), { retryable: true });
  }
  const message = messageSchema.parse(answer);
  if (message.kind === 'done') return message;
  const { code, message: text, retryable } = message as Extract<ProducerMessage, { kind: 'failed' }>;
  throw new StreamError(code as StreamErrorCode, text, { retryable });
}
