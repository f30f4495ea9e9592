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
  /** The client's brokers as host:port, separated by commas. The producer process connects by itself. */
  brokers: string;
  offsets: StreamOffsets;
  registry: SchemaRegistry;
  prefix: string;
  log: Logger;
}

interface ProduceInput {
  register: RegisterName;
  edition: number;
  /** Local path of the change file that the edition was frozen with. */
  changeFile: string;
  /** The last report of an earlier run that did not finish. Without it the run begins at the beginning. */
  acknowledged?: Acknowledged;
  /** Whether the log lost this edition (editionsToRepublish), so that it is produced once more. */
  again?: boolean;
  /** Runs the job elsewhere than in a process of its own. */
  run?: RunJob;
}

/** How far a run had come. */
export interface Acknowledged {
  acknowledgedBlocks: number;
  /** Where the log ended in each partition when it had these blocks. */
  logEnds: readonly number[];
}

/** `logEnds` is missing when Kafka did not answer. A later run cannot continue from such a report. */
type ProduceProgress = ProducerProgress & Partial<Pick<Acknowledged, 'logEnds'>>;

export interface ProduceOutcome extends ProducerDone {
  endOffsets: number[];
}

/** A topic with one partition gets a chunk as one batch, so a chunk must stay far below maxMessageBytes. */
const produceLimits = {
  rowsPerChunk: 5_000,
  bytesPerChunk: 4 * 1024 * 1024,
  requestTimeoutMs: 30_000,
  sendAttempts: 5,
} as const;

/**
 * Sends a frozen edition's change file to Kafka in a child process, records where the edition ends in each partition,
 * writes its record into the editions topic, and marks it `publicada`. Every step can be repeated: readers take
 * repeated records as one.
 * @throws StreamError; an aborted signal's reason
 */
export async function produceEdition(
  dependencies: ProduceDependencies,
  input: ProduceInput,
  report: (progress: ProduceProgress) => void,
  signal: AbortSignal,
): Promise<ProduceOutcome> {
  const { pool, offsets, prefix, log } = dependencies;
  const { register, edition } = input;
  const row = await knownEdition(pool, register, edition);
  // After a death here these editions have no recorded end, so editionsToRepublish finds all of them again.
  if (input.again) await forgetEditionsFrom(pool, register, edition);
  const { topic } = changesOutput(prefix, register);
  const acknowledgedBlocks = await stillThere(offsets, topic, input.acknowledged);
  const reports = withLogEnds(offsets, topic, report);
  const sending = sendChangeFile(dependencies, row, { ...input, acknowledgedBlocks }, reports.report, signal);
  const done = await sending.finally(reports.end);
  // A death before the offsets are recorded makes the repeat send everything again. No reader waits for this edition
  // yet.
  const ends = await offsets.ends(topic);
  const recorded = ends.map((end, partition) => ({
    partition,
    rows: done.rowsByPartition[partition] ?? 0,
    end_offset: end,
  }));
  await recordEditionPartitions(pool, register, edition, recorded);
  // After a death here the repeat writes a second record, which readers take as the same edition.
  await sendEditionRecord(dependencies, row, recorded);
  await inTransaction(pool, (client) => recordPublished(client, register, edition));
  log.info({ register, edition, rows: done.rows, endOffsets: ends, cpuSeconds: done.cpuSeconds }, 'edition produced');
  return { ...done, endOffsets: [...ends] };
}

/**
 * Number of blocks that need not be sent again. A broker that lost power may have lost acknowledged records, so they
 * count only while the log still reaches as far as it did. Otherwise their rows would be missing for ever.
 */
async function stillThere(offsets: StreamOffsets, topic: string, acknowledged?: Acknowledged): Promise<number> {
  if (acknowledged === undefined) return 0;
  const ends = await offsets.ends(topic);
  const { acknowledgedBlocks, logEnds } = acknowledged;
  return logEnds.every((end, partition) => (ends[partition] ?? 0) >= end) ? acknowledgedBlocks : 0;
}

/**
 * Adds the log's ends to each report, read after the report's blocks were acknowledged. Reports nothing after `end`.
 */
function withLogEnds(offsets: StreamOffsets, topic: string, report: (progress: ProduceProgress) => void) {
  let ended = false;
  return {
    report: (progress: ProducerProgress) => {
      const reportWith = (more: Partial<Acknowledged>) => void (ended || report({ ...progress, ...more }));
      offsets.ends(topic).then(
        (logEnds) => reportWith({ logEnds }),
        () => reportWith({}),
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

/** Sends the records of an edition's change file, with the schema that the file was written with. */
async function sendChangeFile(
  dependencies: Pick<ProduceDependencies, 'pool' | 'brokers' | 'registry' | 'prefix'>,
  row: Edition,
  input: Pick<ProduceInput, 'changeFile' | 'run'> & { acknowledgedBlocks?: number; recordHeaders?: RecordHeaders },
  report: (progress: ProducerProgress) => void,
  signal: AbortSignal,
): Promise<ProducerDone> {
  const output = changesOutput(dependencies.prefix, row.register);
  const { partitions } = await readHead(dependencies.pool, row.register);
  const job = {
    brokers: dependencies.brokers,
    topic: output.topic,
    edition: row.number,
    schemaId: await schemaIdOfFile(dependencies.registry, output, input.changeFile),
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
 * Registry id of the schema in the change file. A file that an earlier release froze is produced with that release's
 * schema. @throws StreamError `schema_missing`
 */
async function schemaIdOfFile(registry: SchemaRegistry, output: Output, changeFile: string): Promise<number> {
  const file = await openChangeFile(changeFile);
  await file.close();
  return registry.idOf(output.subject, file.header.metadata['avro.schema'] ?? '');
}

/** Writes the record that this edition is complete. Its key is the number, so that readers recognise a repeat. */
async function sendEditionRecord(
  dependencies: ProduceDependencies,
  row: Edition,
  ends: readonly EditionPartition[],
): Promise<void> {
  const output = editionsOutput(dependencies.prefix, row.register);
  const schemaId = await schemaIdFor(dependencies.registry, output);
  const record = {
    register: row.register,
    edition: row.number,
    fecha_dato: row.fecha_dato,
    detected_at: row.detected_at.getTime(),
    rows: row.changes,
    publication_sha256: await publicationHash(dependencies.pool, row),
    change_file_sha256: row.change_file_sha256,
    corrects: row.corrects,
    end_offsets: ends.map(({ end_offset }) => end_offset),
  };
  const value = Buffer.concat([schemaHeader(schemaId), avroType('edition').toBuffer(record)]);
  const sender = new KafkaChunkSender(dependencies.kafka, { requestTimeoutMs: produceLimits.requestTimeoutMs });
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
 * Sends an edition's change file into its changes topic once more, with the header `replay` on each record, and records
 * nothing in the catalogue. Repeatable: a death half way leaves some records twice, which readers take as one.
 * @throws StreamError `edition_not_announced` while watch still has to read the records that are there already
 */
export async function replayEdition(
  dependencies: Pick<ProduceDependencies, 'pool' | 'brokers' | 'registry' | 'prefix' | 'log'>,
  input: Pick<ProduceInput, 'register' | 'edition' | 'changeFile'>,
  report: (progress: ProducerProgress) => void,
  signal: AbortSignal,
): Promise<ProducerDone> {
  const row = await knownEdition(dependencies.pool, input.register, input.edition);
  if (row.avisada_at === null) {
    const message = `edition ${row.number} of ${row.register} is in progress: replay it once its events are written`;
    throw new StreamError('edition_not_announced', message, { retryable: false });
  }
  const recordHeaders = { [replayHeader]: String(row.number) };
  const done = await sendChangeFile(dependencies, row, { changeFile: input.changeFile, recordHeaders }, report, signal);
  dependencies.log.info({ register: row.register, edition: row.number, rows: done.rows }, 'edition replayed');
  return done;
}
