import { setTimeout as sleep } from 'node:timers/promises';
import type { ChunkSender } from '../ports.ts';
import { PreparedChunk } from '../prepared-chunk.ts';
import type { PublisherJob } from './job.ts';
import type { RecordCutter } from './records.ts';

/** Blocks of a change file: raw bytes of `count` records. */
export type Blocks = AsyncIterable<{ bytes: Uint8Array; count: number }>;

export interface SendState {
  /** Acknowledged, those of earlier runs included. */
  rows: number;
  blocks: number;
}

interface Filled {
  chunk: PreparedChunk;
  blocks: number;
}

/**
 * Sends the blocks in order, one chunk at a time, and keeps `state` at what is acknowledged; resolves with the rows by
 * partition. The next chunk is filled while the broker writes the last. Dying anywhere here loses nothing: the next run
 * sends again what was not acknowledged, and whoever reads the topic takes repeats as one.
 */
export async function sendBlocks(
  blocks: Blocks,
  cutter: RecordCutter,
  sender: ChunkSender,
  job: PublisherJob,
  state: SendState,
): Promise<number[]> {
  let inFlight: Promise<void> = Promise.resolve();
  for await (const filled of chunks(blocks, cutter, job, state)) {
    await inFlight;
    inFlight = sendOne(sender, job, filled.chunk).then(() => {
      state.rows += filled.chunk.rows;
      state.blocks += filled.blocks;
    });
    // Awaited a round later, or below: an unhandled rejection meanwhile would end the process without a word.
    inFlight.catch(() => {});
  }
  await inFlight;
  return cutter.rowsByPartition;
}

async function sendOne(sender: ChunkSender, job: PublisherJob, chunk: PreparedChunk): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      await sender.sendPrepared(job.topic, chunk);
      return;
    } catch (error) {
      if (attempt >= job.sendAttempts) throw error;
      await sleep(Math.min(500 * attempt, 5_000));
    }
  }
}

/** Two chunks take turns: the caller comes for the next only once it has sent the last, and then the one before is done. */
async function* chunks(
  blocks: Blocks,
  cutter: RecordCutter,
  job: PublisherJob,
  state: SendState,
): AsyncGenerator<Filled> {
  const turns = Array.from({ length: 2 }, () => new PreparedChunk(job.partitions, job.recordHeaders));
  let turn = 0;
  let count = 0;
  let skip = job.acknowledgedBlocks;
  for await (const block of blocks) {
    if (skip > 0) {
      // Acknowledged in an earlier run: only counted.
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
    if (chunk.rows < job.rowsPerChunk && chunk.bytes < job.bytesPerChunk) continue;
    yield { chunk, blocks: count };
    turn = (turn + 1) % turns.length;
    count = 0;
  }
  if (count > 0) yield { chunk: turns[turn]!, blocks: count };
}
