import { join } from 'node:path';
import type { Archive } from '../../pipelines/archive/archive.ts';
import { type ChangedLines, readChangedLines } from '../../pipelines/diff/changed-lines.ts';
import { differenceProgram, runInChild } from '../../pipelines/diff/child.ts';
import { workFileName } from '../../pipelines/diff/work-files.ts';
import { type Edition, findEdition, publicationUnder } from '../../pipelines/editions/editions.ts';
import { readHead } from '../../pipelines/editions/heads.ts';
import { findPublication } from '../../pipelines/editions/publications.ts';
import { registerModules } from '../../pipelines/registers/modules.ts';
import { inOwnProcess } from '../../pipelines/runtime/job-process.ts';
import type { Logger } from '../../pipelines/runtime/log.ts';
import type { Pool } from '../../pipelines/runtime/postgres.ts';
import { type RegisterName, registerNames } from '../../schemas/registers.ts';

/** Editions with more changes are full ones, whose lines are those of the whole publication. They are not kept. */
const maxChanges = 500_000;
/** A page waits this long for lines that are being read, and then says how far the reading is. */
const waitMs = 1_200;
/** The longest reading of two publications. It takes some 5 s on a machine with nothing else to do. */
const readingTimeoutMs = 10 * 60_000;

/** Look-ups go first when the machine is busy. */
const program = { ...differenceProgram, niceness: 10 };

export interface PublishedLinesDependencies {
  pool: Pool;
  archive: Archive;
  /** The folder WORK_DIR. */
  workDir: string;
  log: Logger;
}

/** How far the reading of the two publications is, from 0 to 1. */
export interface Reading {
  part: number;
}

/**
 * The lines of the companies that an edition of a large register changed. They are kept in WORK_DIR, ready for the
 * newest edition of each register, and read for an older one when somebody asks for it. One reading runs at a time.
 */
export class PublishedLines {
  readonly #dependencies: PublishedLinesDependencies;
  readonly #folder: string;
  /** By the name of the file that is being made. */
  readonly #readings = new Map<string, Reading & { done: Promise<void> }>();
  /** Names of files that could not be made. */
  readonly #failed = new Set<string>();
  readonly #stop = new AbortController();
  #turn: Promise<void> = Promise.resolve();

  constructor(dependencies: PublishedLinesDependencies) {
    this.#dependencies = dependencies;
    this.#folder = join(dependencies.workDir, 'lines');
  }

  /** Whether this edition's lines are kept. Those of a small register are found in its file at once. */
  keeps({ register, changes, corrects }: Edition): boolean {
    return isLarge(register) && changes <= maxChanges && corrects === null;
  }

  /** Keeps the lines of the newest edition of each large register. One that failed is not tried again. */
  async prepareNewest(): Promise<void> {
    const { pool } = this.#dependencies;
    for (const register of registerNames) {
      if (!isLarge(register)) continue;
      const edition = await findEdition(pool, register, (await readHead(pool, register)).edition);
      if (edition !== null) await this.prepare(edition);
    }
  }

  /** Keeps the lines of an edition, if it is one whose lines are kept. */
  async prepare(edition: Edition): Promise<void> {
    if (!this.keeps(edition) || this.#failed.has(nameOf(edition))) return;
    if ((await readChangedLines(this.#folder, nameOf(edition), '')) === null) await this.#read(edition).done;
  }

  /**
   * Returns the lines of a company, `undefined` if the edition did not change it, a `Reading` when they are not there
   * yet, or null when the publications cannot be read.
   */
  async find(edition: Edition, ruc: string): Promise<ChangedLines | undefined | Reading | null> {
    const kept = await readChangedLines(this.#folder, nameOf(edition), ruc);
    if (kept !== null) return kept;
    const reading = this.#read(edition);
    const isDone = await Promise.race([reading.done.then(() => true), waited(waitMs)]);
    return isDone ? await readChangedLines(this.#folder, nameOf(edition), ruc) : { part: reading.part };
  }

  /** Ends the reading that runs. Its file is made again when somebody asks for it. */
  async stop(): Promise<void> {
    this.#stop.abort(new Error('this process stops'));
    await this.#turn;
  }

  #read(edition: Edition): Reading & { done: Promise<void> } {
    const name = nameOf(edition);
    const known = this.#readings.get(name);
    if (known !== undefined) return known;
    const reading = { part: 0, done: this.#turn };
    reading.done = this.#turn
      .then(() => this.#keep(edition, (part) => Object.assign(reading, { part })))
      .catch((error: unknown) => {
        if (this.#stop.signal.aborted) return;
        this.#failed.add(name);
        const { register, number } = edition;
        this.#dependencies.log.warn({ err: error, register, edition: number }, 'the lines of an edition were not kept');
      })
      .finally(() => this.#readings.delete(name));
    this.#turn = reading.done;
    this.#readings.set(name, reading);
    return reading;
  }

  async #keep(edition: Edition, report: (part: number) => void): Promise<void> {
    const { archive, pool } = this.#dependencies;
    const { register, number, change_file_sha256: sha256, publication_id } = edition;
    const under = await publicationUnder(pool, register, number - 1);
    const input = {
      register,
      changeFile: await archive.localFile({ register, kind: 'changes', sha256 }),
      before: await this.#textOf(under?.id ?? null),
      after: await this.#textOf(publication_id),
      folder: this.#folder,
      name: nameOf(edition),
    };
    const signal = AbortSignal.any([this.#stop.signal, AbortSignal.timeout(readingTimeoutMs)]);
    await runInChild('keepLines', input, report, signal, inOwnProcess(program));
  }

  async #textOf(publicationId: number | null): Promise<{ path: string; isLast: boolean } | null> {
    const publication = publicationId === null ? null : await findPublication(this.#dependencies.pool, publicationId);
    if (publication?.sha256 == null || publication.removed_at !== null) return null;
    const { register, sha256, duplicates } = publication;
    const path = await this.#dependencies.archive.localFile({ register, kind: 'publications', sha256 });
    return { path, isLast: (duplicates ?? 0) > 0 };
  }
}

function isLarge(register: RegisterName): boolean {
  return registerModules[register].format.size === 'large';
}

function nameOf({ register, change_file_sha256: sha256 }: Edition): string {
  return workFileName(register, sha256, 'lines');
}

function waited(ms: number): Promise<false> {
  return new Promise((resolve) => setTimeout(() => resolve(false), ms).unref());
}
