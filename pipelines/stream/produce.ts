import type { Kafka } from 'kafkajs';
import type { RegisterName } from '../../schemas/registers.ts';
import { openChangeFile } from '../changes/change-file.ts';
import { avroType, schemaHeader } from '../changes/record.ts';
import {
  type Edition,
  type EditionPartition,
  findEdition,
  forgetEditionsFrom,
  recordEditionPartitions,
  recordPublished,
} from '../editions/editions.ts';
import { readHead } from '../editions/heads.ts';
import type { RunJob } from '../runtime/job-process.ts';
import type { Logger } from '../runtime/log.ts';
import { inTransaction, type Pool } from '../runtime/postgres.ts';
import { KafkaChunkSender, replayHeader, StreamError, type StreamOffsets } from './kafka.ts';
import { type ProducerDone, type ProducerProgress, runProducer } from './producer/job.ts';
import type { RecordHeaders } from './producer/records.ts';
import { type SchemaRegistry, schemaIdFor } from './registry.ts';
import { changesOutput, editionsOutput, type Output } from './topics.ts';

export interface ProduceDependencies {
  pool: Pool;
  kafka: Kafka;
  /** The same brokers as the client's, host:port separated by commas: the producer process connects by itself. */
  brokers: string;
  offsets: StreamOffsets;
  registry: SchemaRegistry;
  prefix: string;
  log: Logger;
}

interface ProduceInput {
  register: RegisterName;
  edition: number;
  /** Local file of the change file that the edition was frozen with. */
  changeFile: string;
  /** The last report of an earlier run that did not end; left out: begin at the beginning, which is always right. */
  acknowledged?: Acknowledged;
  /** The log lost this edition (editionsToRepublish): it is published once more. */
  again?: boolean;
  /** Left out: a process of its own. */
  run?: RunJob;
}

/** How far a run had come. */
export interface Acknowledged {
  acknowledgedBlocks: number;
  /** Where the log ended then, by partition: it held these blocks. */
  logEnds: readonly number[];
}

/** Without `logEnds` where Kafka gave no answer just then: nobody can go on from such a report. */
export type ProduceProgress = ProducerProgress & Partial<Pick<Acknowledged, 'logEnds'>>;

export interface ProduceOutcome extends ProducerDone {
  endOffsets: number[];
}

/** A chunk is at most one batch of a topic with one partition: with the block that fills it, far below maxMessageBytes. */
const produceLimits = {
  rowsPerChunk: 5_000,
  bytesPerChunk: 4 * 1024 * 1024,
  requestTimeoutMs: 30_000,
  sendAttempts: 5,
} as const;

/**
 * Brings a frozen edition's change file into Kafka by a child process, notes where it ends in each partition, tells the
 * editions topic, and marks the edition `publicada`. Repeatable at every step; readers take repeated records as one.
 * @throws StreamError; an aborted signal's reason
 */
export async function produceEdition(
  parts: ProduceDependencies,
  input: ProduceInput,
  report: (progress: ProduceProgress) => void,
  signal: AbortSignal,
): Promise<ProduceOutcome> {
  const { pool, offsets, prefix, log } = parts;
  const { register, edition } = input;
  const row = await knownEdition(pool, register, edition);
  // Dying after this: the editions have no noted end, and editionsToRepublish finds them all again.
  if (input.again) await forgetEditionsFrom(pool, register, edition);
  const { topic } = changesOutput(prefix, register);
  const acknowledgedBlocks = await stillThere(offsets, topic, input.acknowledged);
  const told = withLogEnds(offsets, topic, report);
  const done = await sendChangeFile(parts, row, { ...input, acknowledgedBlocks }, told.report, signal).finally(
    told.end,
  );
  // Dying before the offsets are noted: nobody waits for this edition yet; the repeat sends everything again.
  const ends = await offsets.ends(topic);
  const noted = ends.map((end, partition) => ({
    partition,
    rows: done.rowsByPartition[partition] ?? 0,
    end_offset: end,
  }));
  await recordEditionPartitions(pool, register, edition, noted);
  // Dying here: the repeat writes a second record, which readers take as the same edition.
  await tellEditions(parts, row, noted);
  await inTransaction(pool, (client) => recordPublished(client, register, edition));
  log.info({ register, edition, rows: done.rows, endOffsets: ends, cpuSeconds: done.cpuSeconds }, 'edition published');
  return { ...done, endOffsets: [...ends] };
}

/**
 * Blocks that need not be sent again. A broker that lost power may have lost what it had acknowledged; were it counted as sent,
 * these rows would be missing for ever.
 */
async function stillThere(offsets: StreamOffsets, topic: string, acknowledged?: Acknowledged): Promise<number> {
  if (acknowledged === undefined) return 0;
  const ends = await offsets.ends(topic);
  const { acknowledgedBlocks, logEnds } = acknowledged;
  return logEnds.every((end, partition) => (ends[partition] ?? 0) >= end) ? acknowledgedBlocks : 0;
}

/** Adds to each report where the log ends, asked for after what it says was acknowledged. Nothing is told after the end. */
function withLogEnds(offsets: StreamOffsets, topic: string, report: (progress: ProduceProgress) => void) {
  let ended = false;
  return {
    report: (progress: ProducerProgress) => {
      const tell = (more: Partial<Acknowledged>) => void (ended || report({ ...progress, ...more }));
      offsets.ends(topic).then(
        (logEnds) => tell({ logEnds }),
        () => tell({}),
      );
    },
    end: () => {
      ended = true;
    },
  };
}

/** @throws StreamError `edition_unknown` */
async function knownEdition(pool: Pool, register: RegisterName, edition: number): Promise<Edition> {
  const row = await findEdition(pool, register, edition);
  if (row !== null) return row;
  throw new StreamError('edition_unknown', `edition ${edition} of ${register} is not in the catalogue`, {
    retryable: false,
  });
}

/** Sends the records of an edition's change file, under the schema that the file was written with. */
async function sendChangeFile(
  parts: Pick<ProduceDependencies, 'pool' | 'brokers' | 'registry' | 'prefix'>,
  row: Edition,
  input: Pick<ProduceInput, 'changeFile' | 'run'> & { acknowledgedBlocks?: number; recordHeaders?: RecordHeaders },
  report: (progress: ProducerProgress) => void,
  signal: AbortSignal,
): Promise<ProducerDone> {
  const output = changesOutput(parts.prefix, row.register);
  const { partitions } = await readHead(parts.pool, row.register);
  const job = {
    brokers: parts.brokers,
    topic: output.topic,
    edition: row.number,
    schemaId: await schemaIdOfFile(parts.registry, output, input.changeFile),
    partitions,
    changeFile: input.changeFile,
    sha256: row.change_file_sha256,
    rows: row.changes,
    acknowledgedBlocks: input.acknowledgedBlocks ?? 0,
    recordHeaders: { ...input.recordHeaders },
    ...produceLimits,
  };
  return runProducer(job, report, signal, input.run);
}

/**
 * The file says itself how it is encoded: one that was frozen by an earlier release is published, or replayed, under that
 * release's schema. @throws StreamError `schema_missing`
 */
async function schemaIdOfFile(registry: SchemaRegistry, output: Output, changeFile: string): Promise<number> {
  const file = await openChangeFile(changeFile);
  await file.close();
  return registry.idOf(output.subject, file.header.metadata['avro.schema'] ?? '');
}

/** One record: this edition is complete in its changes topic. Keyed by its number, so that repeats are recognised. */
async function tellEditions(
  parts: ProduceDependencies,
  row: Edition,
  ends: readonly EditionPartition[],
): Promise<void> {
  const output = editionsOutput(parts.prefix, row.register);
  const schemaId = await schemaIdFor(parts.registry, output);
  const record = {
    register: row.register,
    edition: row.number,
    fecha_dato: row.fecha_dato,
    detected_at: row.detected_at.getTime(),
    rows: row.changes,
    publication_sha256: await publicationHash(parts.pool, row),
    change_file_sha256: row.change_file_sha256,
    corrects: row.corrects,
    end_offsets: ends.map(({ end_offset }) => end_offset),
  };
  const value = Buffer.concat([schemaHeader(schemaId), avroType('edition').toBuffer(record)]);
  const sender = new KafkaChunkSender(parts.kafka, { requestTimeoutMs: produceLimits.requestTimeoutMs });
  try {
    await sender.send(output.topic, [{ key: Buffer.from(String(row.number)), value, partition: 0 }]);
  } finally {
    await sender.close();
  }
}

async function publicationHash(pool: Pool, row: Edition): Promise<string | null> {
  if (row.publication_id === null) return null;
  const { rows } = await pool.query<{ sha256: string | null }>('SELECT sha256 FROM publication WHERE id = $1', [
    row.publication_id,
  ]);
  return rows[0]?.sha256 ?? null;
}

/**
 * Sends an edition's change file into its changes topic once more, with the header `replay` on each record and nothing
 * noted in the catalogue. Repeatable; dying half way leaves records that stand twice, which readers take as one.
 * @throws StreamError `edition_not_announced`: watchers are still to be told of it by the records that stand there already
 */
export async function replayEdition(
  parts: Pick<ProduceDependencies, 'pool' | 'brokers' | 'registry' | 'prefix' | 'log'>,
  input: Pick<ProduceInput, 'register' | 'edition' | 'changeFile'>,
  report: (progress: ProducerProgress) => void,
  signal: AbortSignal,
): Promise<ProducerDone> {
  const row = await knownEdition(parts.pool, input.register, input.edition);
  if (row.avisada_at === null) {
    const message = `edition ${row.number} of ${row.register} is on its way: it can be replayed once it is announced`;
    throw new StreamError('edition_not_announced', message, { retryable: false });
  }
  const recordHeaders = { [replayHeader]: String(row.number) };
  const done = await sendChangeFile(parts, row, { changeFile: input.changeFile, recordHeaders }, report, signal);
  parts.log.info({ register: row.register, edition: row.number, rows: done.rows }, 'edition replayed');
  return done;
}
