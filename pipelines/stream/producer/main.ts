import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { sha256OfFile } from '../../archive/local-copies.ts';
import { type ChangeBlock, openChangeFile } from '../../changes/change-file.ts';
import { makeKafka } from '../../runtime/kafka/client.ts';
import { makeLogger } from '../../runtime/log.ts';
import { KafkaChunkSender, StreamError } from '../kafka.ts';
import { jobSchema, type ProducerJob, type ProducerMessage } from './job.ts';
import { PreparedChunk, RecordCutter } from './records.ts';

// The producer is a separate process. If the worker encoded millions of records itself, its heartbeats would be late
// and it could exceed its memory limit.

/**
 * A chunk is sent when it reaches this number of rows or bytes. Blocks are added whole, so a chunk may exceed the limit
 * by a part of its last block. In a topic with one partition, a chunk becomes one batch. So a chunk must stay far below
 * maxMessageBytes in topics.ts.
 */
const rowsPerChunk = 5_000;
const bytesPerChunk = 4 * 1024 * 1024;
/** How many times a chunk is sent, each time by a new Kafka producer, before the process gives up. */
const sendAttempts = 5;
const progressMs = 1_000;
/** CPU time that the process had used when it answered the previous job. */
let cpuBefore = { user: 0, system: 0 };

function send(message: ProducerMessage): void {
  process.stdout.write(`${JSON.stringify(message)}\n`);
}

function reportEvery(job: ProducerJob, state: SendState): NodeJS.Timeout {
  let startedAt = 0;
  let startRows = 0;
  return setInterval(() => {
    const sending = state.blocks > job.acknowledgedBlocks || state.rows > 0;
    if (sending && startedAt === 0) {
      startedAt = performance.now();
      startRows = state.rows;
    }
    const seconds = (performance.now() - startedAt) / 1000;
    const rate = sending && seconds > 0.5 ? (state.rows - startRows) / seconds : 0;
    send({
      kind: 'progress',
      step: sending ? 'sending' : 'checking',
      rows: state.rows,
      totalRows: job.rows,
      rowsPerSecond: Math.round(rate),
      acknowledgedBlocks: state.blocks,
    });
  }, progressMs);
}

async function produce(job: ProducerJob): Promise<void> {
  const state: SendState = { rows: 0, blocks: 0 };
  let rowsByPartition: number[];
  const timer = reportEvery(job, state);
  const kafka = makeKafka(job.connection, 'padron-producer', makeLogger('producer', 'warn'));
  const sender = new KafkaChunkSender(kafka);
  try {
    // The file is checked before the first record is sent, because records in Kafka cannot be taken back.
    const found = await sha256OfFile(job.changeFile);
    if (found !== job.sha256) throw changed(`has hash ${found}, the edition was frozen with ${job.sha256}`);
    const file = await openChangeFile(job.changeFile);
    try {
      const cutter = new RecordCutter({ ...job, schema: file.schema });
      rowsByPartition = await sendBlocks(file.blocks(), cutter, sender, job, state);
    } finally {
      await file.close();
    }
    if (state.rows !== job.rows) throw changed(`holds ${state.rows} changes, the catalogue says ${job.rows}`);
  } finally {
    clearInterval(timer);
    await sender.close().catch(() => {});
  }
  const { user, system } = process.cpuUsage(cpuBefore);
  cpuBefore = process.cpuUsage();
  send({ kind: 'done', rows: state.rows, rowsByPartition, cpuSeconds: (user + system) / 1e6 });
}

function changed(what: string): StreamError {
  return new StreamError('change_file_differs', `the change file ${what}`);
}

function sendFailure(error: unknown): void {
  const { code, retryable } = error as { code?: unknown; retryable?: unknown };
  send({
    kind: 'failed',
    code: typeof code === 'string' ? code : 'producer_failed',
    message: error instanceof Error ? error.message : String(error),
    retryable: typeof retryable === 'boolean' ? retryable : true,
  });
}

// The parent sends the next job only after the answer to this job, so two jobs never run at once.
const lines = createInterface({ input: process.stdin });
lines.on('line', async (line) => {
  try {
    await produce(jobSchema.parse(JSON.parse(line)));
  } catch (error) {
    sendFailure(error);
  }
});
// The input closes when there are no more jobs, or when the parent has died and nobody would record what is sent.
lines.on('close', () => process.exit(0));

interface SendState {
  /** Acknowledged rows and blocks, including those of earlier runs. */
  rows: number;
  blocks: number;
}

/**
 * Sends the blocks in order, one chunk at a time, and resolves with the number of rows per partition. The next chunk is
 * filled while the broker writes the previous chunk. `state` counts the rows and blocks that Kafka has acknowledged. If
 * the process dies here, the next run sends unacknowledged chunks again. Readers count a repeated record once.
 */
async function sendBlocks(
  blocks: AsyncIterable<ChangeBlock>,
  cutter: RecordCutter,
  sender: KafkaChunkSender,
  job: ProducerJob,
  state: SendState,
): Promise<number[]> {
  let inFlight: Promise<void> = Promise.resolve();
  for await (const filled of chunks(blocks, cutter, job, state)) {
    await inFlight;
    inFlight = sendOne(sender, job, filled.chunk).then(() => {
      state.rows += filled.chunk.rows;
      state.blocks += filled.blocks;
    });
    // `inFlight` is awaited only in the next round or after the loop. Without this handler, an earlier rejection would
    // be unhandled. The process would then end without an answer.
    inFlight.catch(() => {});
  }
  await inFlight;
  return cutter.rowsByPartition;
}

async function sendOne(sender: KafkaChunkSender, job: ProducerJob, chunk: PreparedChunk): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      await sender.send(job.topic, chunk.asMessages());
      return;
    } catch (error) {
      if (attempt >= sendAttempts) throw error;
      await sleep(Math.min(500 * attempt, 5_000));
    }
  }
}

/**
 * Fills chunks with the blocks that are not acknowledged yet. Two chunks take turns: one is filled while the caller
 * sends the other.
 */
async function* chunks(
  blocks: AsyncIterable<ChangeBlock>,
  cutter: RecordCutter,
  job: ProducerJob,
  state: SendState,
): AsyncGenerator<{ chunk: PreparedChunk; blocks: number }> {
  const turns = Array.from({ length: 2 }, () => new PreparedChunk(job.partitions, job.recordHeaders));
  let turn = 0;
  let count = 0;
  let skip = job.acknowledgedBlocks;
  for await (const block of blocks) {
    if (skip > 0) {
      // This block was acknowledged in an earlier run, so it is only counted.
      cutter.cut(block.bytes, block.count, null);
      skip -= 1;
      state.rows += block.count;
      state.blocks += 1;
      continue;
    }
    const chunk = turns[turn]!;
    if (count === 0) chunk.clear();
    cutter.cut(block.bytes, block.count, chunk);
    count += 1;
    if (chunk.rows < rowsPerChunk && chunk.bytes < bytesPerChunk) continue;
    yield { chunk, blocks: count };
    turn = (turn + 1) % turns.length;
    count = 0;
  }
  if (count > 0) yield { chunk: turns[turn]!, blocks: count };
}
