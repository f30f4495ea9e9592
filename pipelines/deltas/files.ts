import { type FileHandle, open } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { lostRemedy } from '../archive/archive.ts';
import { LocalCopies } from '../archive/local-copies.ts';
import { type JobProgram, KeptProcess, type RunJob } from '../runtime/job-process.ts';
import type { Logger } from '../runtime/log.ts';
import { type Delta, deltaAnswerSchema, deltaFileLimits, deltaFolder, fileKeyOf } from './job.ts';

export interface DeltaLimits {
  /** How long a request waits for its file to be made before it is asked to come again. */
  waitMs: number;
  /** Editions with more changes than this are made one at a time in a process of their own, beside the others. */
  smallChanges: number;
  /** The most files that wait to be made, those being made included: in all, and for one account. */
  maxQueued: number;
  maxQueuedPerAccount: number;
  /** How long a failure is remembered. A damaged file of gigabytes is not read again for each request. */
  failureMs: number;
}

export const defaultDeltaLimits: DeltaLimits = {
  waitMs: 10_000,
  smallChanges: 200_000,
  maxQueued: 16,
  maxQueuedPerAccount: 4,
  failureMs: 30_000,
};

/**
 * Why there is no file now. `preparing` and `busy`: it helps to come again. `failed`: the log says what an operator must
 * do.
 */
export class DeltaError extends Error {
  override name = 'DeltaError';
  readonly code: 'preparing' | 'busy' | 'failed';
  readonly retryAfterSeconds: number;

  constructor(code: DeltaError['code'], retryAfterSeconds: number) {
    super(`the delta file is not there: ${code}`);
    this.code = code;
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

export interface OpenDelta {
  /** The caller must close it. */
  file: FileHandle;
  bytes: number;
}

interface Making {
  owner: number;
  done: Promise<void>;
}

const program: JobProgram = {
  url: new URL('./main.ts', import.meta.url),
  // A row group of a Parquet file with all cells of 50,000 changes is the most that it holds.
  maxHeapMb: 768,
  // The archive's credentials are in the environment.
  env: process.env,
  // Look-ups go first.
  niceness: 10,
};
const idleMs = 60_000;

export interface DeltaSettings {
  archiveUrl: string;
  workDir: string;
  log: Logger;
  limits: DeltaLimits;
  /** How jobs run; by default a process for small editions and one for large editions. */
  run?: { small: RunJob; large: RunJob };
}

/**
 * Delta files of this api process. Each is made once from its change file, by a process of its own, and then read like
 * any file. So its length is known, a range costs no more than its bytes, and a damaged change file is found before the
 * first byte is sent. A file that was removed to make room is made again, with the same bytes.
 */
export class DeltaFiles {
  readonly #settings: DeltaSettings;
  readonly #limits: DeltaLimits;
  readonly #files: LocalCopies;
  readonly #run: { small: RunJob; large: RunJob };
  readonly #making = new Map<string, Making>();
  readonly #failedUntil = new Map<string, number>();
  readonly #stopped = new AbortController();

  constructor(settings: DeltaSettings) {
    this.#settings = settings;
    this.#limits = settings.limits;
    this.#files = new LocalCopies(join(settings.workDir, deltaFolder), deltaFileLimits);
    const kept = () => new KeptProcess(program, idleMs).run;
    this.#run = settings.run ?? { small: kept(), large: kept() };
  }

  /** Ends the processes that make files. An unfinished file is made from its beginning by the next process. */
  async stop(): Promise<void> {
    this.#stopped.abort(new Error('the process stops'));
    await Promise.allSettled([...this.#making.values()].map(({ done }) => done));
  }

  /**
   * Opens the file, after it was made if it was not there. The making goes on when the caller leaves, because it will
   * come again, as it is asked to.
   * @param owner the account that asks
   * @throws DeltaError
   */
  async open(delta: Delta, owner: number): Promise<OpenDelta> {
    const key = fileKeyOf(delta);
    const found = await this.#find(key);
    if (found !== null) return found;
    const isSmall = delta.changes <= this.#limits.smallChanges;
    if ((this.#failedUntil.get(key) ?? 0) > performance.now()) throw this.#failed();
    const { done } = this.#making.get(key) ?? this.#make(key, delta, owner, isSmall);
    const waited = new AbortController();
    const late = sleep(this.#limits.waitMs, 'late' as const, { signal: waited.signal, ref: false });
    late.catch(() => {});
    try {
      const outcome = await Promise.race([done, late]);
      if (outcome === 'late') throw new DeltaError('preparing', isSmall ? 5 : 30);
    } finally {
      waited.abort();
    }
    const made = await this.#find(key);
    if (made === null) throw this.#failed();
    return made;
  }

  async #find(key: string): Promise<OpenDelta | null> {
    const path = await this.#files.find(key);
    // Room may be made just now, by another process too. Then the file is made again.
    const file = path === null ? null : await open(path, 'r').catch(() => null);
    if (file === null) return null;
    const { size } = await file.stat();
    return { file, bytes: size };
  }

  #make(key: string, delta: Delta, owner: number, isSmall: boolean): Making {
    const { maxQueued, maxQueuedPerAccount } = this.#limits;
    const own = [...this.#making.values()].filter((each) => each.owner === owner).length;
    if (this.#making.size >= maxQueued || own >= maxQueuedPerAccount) throw new DeltaError('busy', 10);
    const done = this.#runJob(key, delta, this.#run[isSmall ? 'small' : 'large']).finally(() => {
      this.#making.delete(key);
    });
    // Nobody may be waiting any more when it fails.
    done.catch(() => {});
    const making = { owner, done };
    this.#making.set(key, making);
    return making;
  }

  async #runJob(key: string, delta: Delta, run: RunJob): Promise<void> {
    const { archiveUrl, workDir, log } = this.#settings;
    const { register, edition, form, audience, sha256 } = delta;
    const about = { register, edition, form, audience };
    const startedAt = performance.now();
    const { answer, end, errorText } = await run({ delta, archiveUrl, workDir }, () => {}, this.#stopped.signal);
    const result = deltaAnswerSchema.safeParse(answer).data;
    if (result?.kind === 'done') {
      this.#failedUntil.delete(key);
      log.info({ ...about, rows: result.rows, duration_ms: Math.round(performance.now() - startedAt) }, 'delta file');
      return;
    }
    const { code, message } = result ?? { code: 'crashed', message: `${end} ${errorText}`.trim() };
    const isLost = ['not_found', 'hash_mismatch', 'change_file_damaged'].includes(code);
    const remedy = isLost ? `${register}/changes/${sha256}: ${lostRemedy}` : undefined;
    log.error({ ...about, code, failure: message, remedy }, 'a delta file could not be made');
    this.#rememberFailure(key);
    throw this.#failed();
  }

  #rememberFailure(key: string): void {
    const now = performance.now();
    for (const [each, until] of this.#failedUntil) if (until <= now) this.#failedUntil.delete(each);
    this.#failedUntil.set(key, now + this.#limits.failureMs);
  }

  #failed(): DeltaError {
    return new DeltaError('failed', Math.ceil(this.#limits.failureMs / 1_000));
  }
}
