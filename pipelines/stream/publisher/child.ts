import { inOwnProcess, type JobProgram, type RunJob } from '../../runtime/job-process.ts';
import { StreamError, type StreamErrorCode } from '../ports.ts';
import { messageSchema, type PublisherJob, type PublisherMessage, type PublisherProgress } from './job.ts';

export const publisherProgram: JobProgram = {
  url: new URL('./main.ts', import.meta.url),
  // Chunks of a few thousand rows need far less.
  maxHeapMb: 256,
  // Nothing of the environment: the job says everything, and no secret belongs there.
  env: {},
};

export type PublisherDone = Extract<PublisherMessage, { kind: 'done' }>;

/**
 * Runs a job of the publisher to its end, in a process of its own unless `run` says another. An aborted signal kills it.
 * @throws StreamError with the process's own code, or `publisher_failed` when it ended without a word
 */
export async function runPublisher(
  job: PublisherJob,
  report: (progress: PublisherProgress) => void,
  signal: AbortSignal,
  run: RunJob = inOwnProcess(publisherProgram),
): Promise<PublisherDone> {
  const told = (line: unknown) => {
    const message = messageSchema.parse(line);
    if (message.kind === 'progress') report(message);
  };
  const { answer, end, complaint } = await run(job, told, signal);
  if (answer === null) {
    throw new StreamError('publisher_failed', `the publisher ended (${end}) ${complaint}`.trim(), { retryable: true });
  }
  const message = messageSchema.parse(answer);
  if (message.kind === 'done') return message;
  const { code, message: text, retryable } = message as Extract<PublisherMessage, { kind: 'failed' }>;
  throw new StreamError(code as StreamErrorCode, text, { retryable });
}
