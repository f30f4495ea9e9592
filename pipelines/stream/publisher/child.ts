import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { StreamError, type StreamErrorCode } from '../ports.ts';
import { messageSchema, type PublisherJob, type PublisherMessage, type PublisherProgress } from './job.ts';

const program = fileURLToPath(new URL('./main.ts', import.meta.url));
const repository = fileURLToPath(new URL('../../..', import.meta.url));
/** Heap of the publisher: chunks of a few thousand rows need far less. */
const heapMegabytes = 256;

export type PublisherDone = Extract<PublisherMessage, { kind: 'done' }>;

/**
 * Runs the publisher process to its end. An aborted signal kills it.
 * @throws StreamError with the process's own code, or `publisher_failed` when it ended without a word
 */
export async function runPublisher(
  job: PublisherJob,
  report: (progress: PublisherProgress) => void,
  signal: AbortSignal,
): Promise<PublisherDone> {
  signal.throwIfAborted();
  const child = spawn(process.execPath, [`--max-old-space-size=${heapMegabytes}`, '--import', 'tsx', program], {
    cwd: repository,
    stdio: ['pipe', 'pipe', 'pipe'],
    // Nothing of the environment: the job says everything, and no secret belongs there.
    env: {},
  });
  const kill = () => child.kill('SIGKILL');
  signal.addEventListener('abort', kill, { once: true });
  child.stdin.on('error', () => {});
  child.stdin.write(`${JSON.stringify(job)}\n`);
  let last: PublisherMessage | undefined;
  let complaint = '';
  createInterface({ input: child.stdout }).on('line', (line) => {
    const message = readMessage(line);
    if (message === undefined) return;
    if (message.kind === 'progress') report(message);
    else last = message;
  });
  child.stderr.on('data', (chunk: Buffer) => {
    complaint = `${complaint}${chunk.toString()}`.slice(-2_000);
  });
  try {
    const [exitCode, exitSignal] = await new Promise<[number | null, string | null]>((resolve, reject) => {
      child.once('error', reject);
      child.once('close', (code, name) => resolve([code, name]));
    });
    signal.throwIfAborted();
    if (last?.kind === 'done') return last;
    if (last?.kind === 'failed') {
      throw new StreamError(last.code as StreamErrorCode, last.message, { retryable: last.retryable });
    }
    const how = exitSignal ?? `exit code ${exitCode}`;
    throw new StreamError('publisher_failed', `the publisher ended (${how}) ${complaint}`.trim(), { retryable: true });
  } finally {
    signal.removeEventListener('abort', kill);
    kill();
  }
}

/** Other lines are the client's own log. */
function readMessage(line: string): PublisherMessage | undefined {
  try {
    return messageSchema.parse(JSON.parse(line));
  } catch {
    return undefined;
  }
}
