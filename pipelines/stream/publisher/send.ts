import { setTimeout as sleep } from 'node:timers/promises';
import type { ChunkSender, OutgoingRecord } from '../ports.ts';
import type { PublisherJob } from './job.ts';
import { RecordCutter } from './records.ts';

/** Blocks of a change file: raw bytes of `count` records. */
export type Blocks = AsyncIterable<{ bytes: Uint8Array; count: number }>;

export interface SendState {
  /** Acknowledged, those of earlier runs included. */
  rows: number;
  blocks: number;
  rowsByPartition: number[];
}

interface Chunk {
  records: OutgoingRecord[];
  blocks: number;
}

/**
 * Sends the blocks in order, one chunk at a time, and keeps `state` at what is acknowledged. The next chunk is cut while
 * the broker writes the last. Dying anywhere here loses nothing: the next run sends again what was not acknowledged, and
 * whoever reads the topic takes repeats as one.
 */
export async function sendBlocks(
  blocks: Blocks,
  sender: ChunkSender,
  job: PublisherJob,
  state: SendState,
): Promise<void> {
  let inFlight: Promise<void> = Promise.resolve();
  for await (const chunk of chunks(blocks, job, state)) {
    await inFlight;
    inFlight = sendOne(sender, job, chunk.records).then(() => {
      state.rows += chunk.records.length;
      state.blocks += chunk.blocks;
    });
    // Awaited a round later, or below: an unhandled rejection meanwhile would end the process without a word.
    inFlight.catch(() => {});
  }
  await inFlight;
}

async function sendOne(sender: ChunkSender, job: PublisherJob, records: OutgoingRecord[]): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      await sender.send(job.topic, records);
      return;
    } catch (error) {
      if (attempt >= job.sendAttempts) throw error;
      await sleep(Math.min(500 * attempt, 5_000));
    }
  }
}

async function* chunks(blocks: Blocks, job: PublisherJob, state: SendState): AsyncGenerator<Chunk> {
  const cutter = new RecordCutter(job);
  let records: OutgoingRecord[] = [];
  let count = 0;
  let skip = job.acknowledgedBlocks;
  for await (const block of blocks) {
    const cut = cutter.cut(block.bytes, block.count);
    for (const { partition } of cut) state.rowsByPartition[partition]! += 1;
    if (skip > 0) {
      // Acknowledged in an earlier run: only counted.
      skip -= 1;
      state.rows += cut.length;
      state.blocks += 1;
      continue;
    }
    records = records.length === 0 ? cut : records.concat(cut);
    count += 1;
    if (records.length < job.rowsPerChunk) continue;
    yield { records, blocks: count };
    records = [];
    count = 0;
  }
  if (count > 0) yield { records, blocks: count };
}
