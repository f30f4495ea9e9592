import type { Kafka } from 'kafkajs';
import type { RegisterName } from '../../schemas/registers.ts';
import { openChangeFile } from '../changes/change-file.ts';
import { avroType, schemaHeader } from '../changes/record.ts';
import { EditionArchive } from '../editions/edition-archive.ts';
import {
  type Edition,
  type EditionPartition,
  findEdition,
  forgetEditionsFrom,
  recordEditionPartitions,
  recordedEnds,
  recordPublished,
} from '../editions/editions.ts';
import { readHead } from '../editions/heads.ts';
import { findPublication } from '../editions/publications.ts';
import type { RunJob } from '../runtime/job-process.ts';
import type { KafkaConnection } from '../runtime/kafka/connection.ts';
import type { Logger } from '../runtime/log.ts';
import { inTransaction, type Pool } from '../runtime/postgres.ts';
import { KafkaChunkSender, replayHeader, StreamError, type StreamOffsets } from './kafka.ts';
import { type ProducerDone, type ProducerProgress, runProducer } from './producer/job.ts';
import { RecordCutter, type RecordHeaders } from './producer/records.ts';
import { type SchemaRegistry, schemaIdFor } from './registry.ts';
import { editionRecords } from './tail.ts';
import { changesOutput, editionsOutput, type Output } from './topics.ts';

export interface ProduceDependencies {
  pool: Pool;
  kafka: Kafka;
  /** How the producer reaches Kafka. It runs in its own process and makes its own connection. */
  connection: KafkaConnection;
  offsets: StreamOffsets;
  registry: SchemaRegistry;
  prefix: string;
  /** Address of the archive. It gets the catalogue's rows about an edition before Kafka gets the edition's records. */
  archiveUrl: string;
  log: Logger;
}

interface ProduceInput {
  register: RegisterName;
  edition: number;
  /** Local path of the edition's change file. Its SHA-256 must be the one that the catalogue has for the edition. */
  changeFile: string;
  /** The last report of an earlier run that did not finish. Without it the run begins with the first block. */
  acknowledged?: Acknowledged;
  /** True if the edition is produced once more, because Kafka lost it (see `editionsToRepublish`). */
  again?: boolean;
  /** Runs the producer job. By default it runs in a process of its own. */
  run?: RunJob;
}

/** How many blocks of the change file Kafka acknowledged in a run. */
export interface Acknowledged {
  acknowledgedBlocks: number;
  /** The end offset of each partition, read after Kafka had acknowledged these blocks. */
  logEnds: readonly number[];
}

/** `logEnds` is missing when Kafka did not answer. A later run cannot continue from a report without `logEnds`. */
type ProduceProgress = ProducerProgress & Partial<Pick<Acknowledged, 'logEnds'>>;

export interface ProduceOutcome extends ProducerDone {
  endOffsets: number[];
}

/**
 * Produces an edition that the catalogue has. Every step can be repeated, because readers count a repeated record once.
 * - A child process sends the edition's change file to Kafka.
 * - This function records where the edition ends in each partition.
 * - It writes the edition's record into the editions topic and marks the edition `publicada`.
 * @throws StreamError, or the signal's reason if the signal is aborted
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
  // Delete the recorded end offsets of the edition and of all later editions, because Kafka lost all of them. If the
  // process dies after this, `editionsToRepublish` still returns all of them: they have no recorded ends.
  if (input.again) await forgetEditionsFrom(pool, register, edition);
  // Archives the catalogue's rows about the edition. If the process dies after this, the rows do no harm, because only
  // `padron editions adopt` reads such rows, and only up to the last edition that Kafka or ClickHouse has.
  await new EditionArchive(dependencies.archiveUrl).put(pool, register, [edition]);
  const { topic } = changesOutput(prefix, register);
  const acknowledgedBlocks = await stillThere(offsets, topic, input.acknowledged);
  const reports = withLogEnds(offsets, topic, report);
  const sending = sendChangeFile(dependencies, row, { ...input, acknowledgedBlocks }, reports.report, signal);
  const done = await sending.finally(reports.end);
  // Until these end offsets are recorded, `groupPassed` (progress.ts) returns false for this edition. So nobody takes
  // the edition for consumed. If the process dies before the recording, a repeat may send all records again.
  const ends = await offsets.ends(topic);
  const recorded = ends.map((end, partition) => ({
    partition,
    rows: done.rowsByPartition[partition] ?? 0,
    end_offset: end,
  }));
  await recordEditionPartitions(pool, register, edition, recorded);
  // If the process dies before the transaction below, a repeat finds this record in Kafka (`takeProduced`) or writes a
  // second one. Readers count both records as one.
  await sendEditionRecord(dependencies, row, recorded);
  const [streamEnd] = await offsets.ends(editionsOutput(prefix, register).topic);
  await inTransaction(pool, (client) => recordPublished(client, register, edition, streamEnd));
  log.info({ register, edition, rows: done.rows, endOffsets: ends, cpuSeconds: done.cpuSeconds }, 'edition produced');
  return { ...done, endOffsets: [...ends] };
}

/**
 * Returns whether Kafka has the whole edition already, which the edition's record in the editions topic shows. If so,
 * this function records the end offsets and marks the edition `publicada`, and nothing is produced again. That happens
 * in `padron editions adopt`, and after a process died between writing the record and marking the edition. If the
 * process dies here, a repeat finds the record again.
 * @param changeFile local path of the edition's change file
 */
export async function takeProduced(
  dependencies: Pick<ProduceDependencies, 'pool' | 'kafka' | 'offsets' | 'prefix' | 'log'>,
  { register, edition, changeFile }: Pick<ProduceInput, 'register' | 'edition' | 'changeFile'>,
): Promise<boolean> {
  const { pool, offsets, prefix, log } = dependencies;
  const { change_file_sha256 } = await knownEdition(pool, register, edition);
  const { editions } = await recordedEnds(pool, register, edition);
  const records = await editionRecords(dependencies, register, editions);
  const record = records.findLast((one) => one.edition === edition && one.change_file_sha256 === change_file_sha256);
  if (record === undefined) return false;
  const logEnds = await offsets.ends(changesOutput(prefix, register).topic);
  if (!record.end_offsets.every((end, partition) => (logEnds[partition] ?? 0) >= end)) return false;
  const rows = await rowsByPartition(changeFile, edition, logEnds.length);
  const ends = record.end_offsets.map((end_offset, partition) => ({ partition, rows: rows[partition]!, end_offset }));
  await inTransaction(pool, async (client) => {
    await recordEditionPartitions(client, register, edition, ends);
    await recordPublished(client, register, edition, record.end);
  });
  log.info({ register, edition, endOffsets: record.end_offsets }, 'edition was in Kafka already');
  return true;
}

/** Counts the records of a change file by the partition of their keys. */
async function rowsByPartition(changeFile: string, edition: number, partitions: number): Promise<number[]> {
  const file = await openChangeFile(changeFile);
  try {
    // Nothing is encoded, so the schema's id in the registry does not matter.
    const cutter = new RecordCutter({ schema: file.schema, schemaId: 0, edition, partitions });
    for await (const { bytes, count } of file.blocks()) cutter.cut(bytes, count, null);
    return cutter.rowsByPartition;
  } finally {
    await file.close();
  }
}

/**
 * Returns the number of blocks that need not be sent again. A broker that lost power may have lost acknowledged
 * records. Their rows would then be missing for ever. So the acknowledged blocks count only if every partition still
 * reaches its end offset in `logEnds`.
 */
async function stillThere(offsets: StreamOffsets, topic: string, acknowledged?: Acknowledged): Promise<number> {
  if (acknowledged === undefined) return 0;
  const ends = await offsets.ends(topic);
  const { acknowledgedBlocks, logEnds } = acknowledged;
  return logEnds.every((end, partition) => (ends[partition] ?? 0) >= end) ? acknowledgedBlocks : 0;
}

/**
 * Adds the partitions' end offsets to each report. The offsets are read after Kafka acknowledged the report's blocks.
 * If the offsets cannot be read, the report goes on without them. After a call of `end`, nothing is reported.
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

/** @throws StreamError `edition_unknown` if the catalogue does not have the edition */
async function knownEdition(pool: Pool, register: RegisterName, edition: number): Promise<Edition> {
  const row = await findEdition(pool, register, edition);
  if (row !== null) return row;
  throw new StreamError('edition_unknown', `edition ${edition} of ${register} is not in the catalogue`);
}

/** Sends the records of an edition's change file, with the schema that the file was written with. */
async function sendChangeFile(
  dependencies: Pick<ProduceDependencies, 'pool' | 'connection' | 'registry' | 'prefix'>,
  row: Edition,
  input: Pick<ProduceInput, 'changeFile' | 'run'> & { acknowledgedBlocks?: number; recordHeaders?: RecordHeaders },
  report: (progress: ProducerProgress) => void,
  signal: AbortSignal,
): Promise<ProducerDone> {
  const output = changesOutput(dependencies.prefix, row.register);
  const { partitions } = await readHead(dependencies.pool, row.register);
  const job = {
    connection: dependencies.connection,
    topic: output.topic,
    edition: row.number,
    schemaId: await schemaIdOfFile(dependencies.registry, output, input.changeFile),
    partitions,
    changeFile: input.changeFile,
    sha256: row.change_file_sha256,
    rows: row.changes,
    acknowledgedBlocks: input.acknowledgedBlocks ?? 0,
    recordHeaders: { ...input.recordHeaders },
  };
  return runProducer(job, report, signal, input.run);
}

/**
 * Returns the registry id of the schema in the change file. A file of an earlier release keeps that release's schema.
 * @throws StreamError `schema_missing` if the registry does not have this schema
 */
async function schemaIdOfFile(registry: SchemaRegistry, output: Output, changeFile: string): Promise<number> {
  const file = await openChangeFile(changeFile);
  await file.close();
  return registry.idOf(output.subject, file.header.metadata['avro.schema'] ?? '');
}

/**
 * Writes the record that marks this edition as complete. Its key is the edition's number, so that readers recognise a
 * repeated record.
 */
async function sendEditionRecord(
  dependencies: ProduceDependencies,
  row: Edition,
  ends: readonly EditionPartition[],
): Promise<void> {
  const output = editionsOutput(dependencies.prefix, row.register);
  const publication = row.publication_id === null ? null : await findPublication(dependencies.pool, row.publication_id);
  const schemaId = await schemaIdFor(dependencies.registry, output);
  const record = {
    register: row.register,
    edition: row.number,
    fecha_dato: row.fecha_dato,
    detected_at: row.detected_at.getTime(),
    rows: row.changes,
    publication_sha256: publication?.sha256 ?? null,
    change_file_sha256: row.change_file_sha256,
    corrects: row.corrects,
    end_offsets: ends.map(({ end_offset }) => end_offset),
  };
  const value = Buffer.concat([schemaHeader(schemaId), avroType('edition').toBuffer(record)]);
  const sender = new KafkaChunkSender(dependencies.kafka);
  try {
    await sender.send(output.topic, [{ key: Buffer.from(String(row.number)), value, partition: 0 }]);
  } finally {
    await sender.close();
  }
}

/**
 * Sends an edition's change file into the changes topic once more, with the header `replay` on each record. Call it
 * only after the consumer `watch` has written all events of the edition. `watch` ignores records with this header. If
 * the process dies half way, a repeat sends some records twice. Readers count them once. The catalogue stays as it is.
 */
export async function replayEdition(
  dependencies: Pick<ProduceDependencies, 'pool' | 'connection' | 'registry' | 'prefix' | 'log'>,
  input: Pick<ProduceInput, 'register' | 'edition' | 'changeFile'>,
  report: (progress: ProducerProgress) => void,
  signal: AbortSignal,
): Promise<ProducerDone> {
  const row = await knownEdition(dependencies.pool, input.register, input.edition);
  const recordHeaders = { [replayHeader]: String(row.number) };
  const done = await sendChangeFile(dependencies, row, { changeFile: input.changeFile, recordHeaders }, report, signal);
  dependencies.log.info({ register: row.register, edition: row.number, rows: done.rows }, 'edition replayed');
  return done;
}
