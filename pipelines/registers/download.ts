import { type FileHandle, statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { GuardedAnswer } from '../runtime/egress/request.ts';
import { PartFile, type PartNote } from './part-file.ts';
import { askSite, cancelled, drop, type SiteAccess, SourceError, unexpectedAnswer, validatorsOf } from './site.ts';

export interface DownloadLimits {
  /** A file that declares or sends more bytes is refused, because it cannot be the expected file. */
  maxBytes: number;
  /** The connection is given up after this time without a byte. */
  stallTimeoutMs: number;
  /** Most failures in a row without progress. After one more, the download is given up. */
  maxFailuresWithoutProgress: number;
  /** This many new bytes count as progress and reset the count of failures. */
  progressBytes: number;
  firstPauseMs: number;
  maxPauseMs: number;
  reserveBytes: number;
  reportEveryMs: number;
}

export interface DownloadProgress {
  bytes: number;
  declaredBytes: number | null;
  failures: number;
}

/** The note of a finished download, with its hash (see part-file.ts). The bytes are in `DownloadOptions.file`. */
export type Downloaded = PartNote & { finished: NonNullable<PartNote['finished']> };

interface DownloadOptions {
  access: SiteAccess;
  url: string;
  file: string;
  limits: DownloadLimits;
  signal: AbortSignal;
  report: (progress: DownloadProgress) => void;
}

interface Run extends DownloadOptions {
  part: PartFile;
  progress: DownloadProgress;
}

/**
 * Downloads `url` to `file` and resumes where an earlier call stopped. A finished file is not downloaded again.
 * If-Range makes the download start over when the site's file has changed meanwhile. A lost connection is retried after
 * a growing pause. The count of failures starts over after enough new bytes.
 * @throws SourceError
 */
export async function download(options: DownloadOptions): Promise<Downloaded> {
  const { limits, report, signal } = options;
  const part = new PartFile(options.file);
  const progress: DownloadProgress = { bytes: await part.size(), declaredBytes: null, failures: 0 };
  const reporting = setInterval(() => report({ ...progress }), limits.reportEveryMs);
  try {
    for (;;) {
      const startedAt = progress.bytes;
      try {
        return await attempt({ ...options, part, progress });
      } catch (error) {
        if (signal.aborted) throw cancelled();
        if (!(error instanceof SourceError) || !error.retryable) throw error;
        if (progress.bytes - startedAt >= limits.progressBytes) progress.failures = 0;
        progress.failures += 1;
        if (progress.failures > limits.maxFailuresWithoutProgress) throw error;
        const pauseMs = Math.min(limits.maxPauseMs, limits.firstPauseMs * 2 ** (progress.failures - 1));
        await delay(pauseMs, undefined, { signal }).catch(() => {
          throw cancelled();
        });
      }
    }
  } finally {
    clearInterval(reporting);
  }
}

async function attempt(run: Run): Promise<Downloaded> {
  const { part, progress } = run;
  const note = await part.readNote();
  if (note?.finished != null && note.url === run.url) return { ...note, finished: note.finished };
  // If the file is complete, the last byte is requested again, because a request for an empty range is an error. A
  // process leaves such a file when it dies after the last byte and before it writes `finished` into the note.
  const whole = note?.declaredBytes ?? Number.MAX_SAFE_INTEGER;
  const have = note?.url === run.url ? Math.min(await part.size(), Math.max(0, whole - 1)) : 0;
  const version = note === null ? null : rangeValidator(note);
  const from = version === null ? 0 : have;
  progress.bytes = from;
  const { stallTimeoutMs } = run.limits;
  const stalled = new AbortController();
  const timer = setTimeout(() => stalled.abort(), stallTimeoutMs);
  try {
    const headers: Record<string, string> =
      from === 0 || version === null ? {} : { range: `bytes=${from}-`, 'if-range': version };
    const signal = AbortSignal.any([run.signal, stalled.signal]);
    const answer = await askSite(run.access, { url: run.url, method: 'GET', headers, signal });
    try {
      return await receive(run, answer, note, from, timer);
    } finally {
      drop(answer);
    }
  } catch (error) {
    // The abort looks like a cancellation, but the cause is that the site sent nothing.
    if (stalled.signal.aborted && !run.signal.aborted) {
      throw unavailable(`the site sent nothing for ${stallTimeoutMs} ms`, error);
    }
    throw error;
  } finally {
    clearTimeout(timer);
  }
}

/** @param stallTimer ends the connection when it runs out; each piece of the body restarts it */
async function receive(
  run: Run,
  answer: GuardedAnswer,
  note: PartNote | null,
  from: number,
  stallTimer: NodeJS.Timeout,
): Promise<Downloaded> {
  const { part, progress, limits } = run;
  if (answer.status === 416) {
    // Our bytes are not the beginning of the site's file, so the download starts over.
    await part.discard();
    throw unavailable('the site refused the range of a resumed download');
  }
  const resumed = answer.status === 206 && note !== null && continues(answer, note, from);
  if (answer.status === 206 && !resumed) {
    await part.discard();
    throw unavailable('the site answered another range than was asked for');
  }
  if (!resumed && answer.status !== 200) throw unexpectedAnswer(answer.status);
  const start = resumed ? from : 0;
  const current: PartNote = resumed && note !== null ? note : noteOf(run.url, answer);
  progress.declaredBytes = current.declaredBytes;
  await checkRoom(run, current.declaredBytes, start);
  // The note is written before the first byte, because bytes without a note of their version are never resumed. A
  // resumed download already has its note.
  if (!resumed) {
    await part.discard();
    await part.writeNote(current);
  }
  const { handle, hash } = await part.openAt(start);
  progress.bytes = start;
  try {
    for await (const chunk of answer.body as AsyncIterable<Buffer>) {
      stallTimer.refresh();
      if (progress.bytes + chunk.length > limits.maxBytes) throw tooLarge(limits.maxBytes);
      await writeAll(handle, chunk, progress.bytes);
      hash.update(chunk);
      progress.bytes += chunk.length;
    }
    if (current.declaredBytes !== null && progress.bytes !== current.declaredBytes) {
      throw unavailable(`the site sent ${progress.bytes} of ${current.declaredBytes} bytes`);
    }
    await handle.sync();
  } catch (error) {
    if (error instanceof SourceError) throw error;
    if (isDiskFull(error)) throw diskFull(error);
    throw unavailable('the connection was lost', error);
  } finally {
    await handle.close();
  }
  const finished = { ...current, finished: { sha256: hash.digest('hex'), bytes: progress.bytes } };
  await part.writeNote(finished);
  return finished;
}

async function checkRoom(run: Run, declaredBytes: number | null, have: number): Promise<void> {
  const { limits, part } = run;
  if (declaredBytes === null) return;
  if (declaredBytes > limits.maxBytes) throw tooLarge(limits.maxBytes, declaredBytes);
  const disk = await statfs(dirname(part.path));
  if (disk.bavail * disk.bsize < declaredBytes - have + limits.reserveBytes) throw diskFull();
}

function noteOf(url: string, answer: GuardedAnswer): PartNote {
  const length = Number(answer.headers['content-length']);
  return {
    url,
    ...validatorsOf(answer.headers),
    answeredAt: answer.headers.date ?? null,
    contentType: answer.headers['content-type'] ?? null,
    declaredBytes: Number.isSafeInteger(length) && answer.headers['content-length'] !== undefined ? length : null,
    finished: null,
  };
}

/** The value of If-Range: a strong entity tag or a time (RFC 9110 13.1.5). A weak tag does not promise equal bytes. */
function rangeValidator(note: PartNote): string | null {
  if (note.etag !== null && !note.etag.startsWith('W/')) return note.etag;
  return note.lastModified;
}

function continues(answer: GuardedAnswer, note: PartNote, from: number): boolean {
  const range = /^bytes (\d+)-(\d+)\/(\d+|\*)$/.exec(String(answer.headers['content-range'] ?? ''));
  if (range === null || Number(range[1]) !== from || from === 0) return false;
  const found = validatorsOf(answer.headers);
  if (found.etag !== null && note.etag !== null && found.etag !== note.etag) return false;
  if (found.lastModified !== null && note.lastModified !== null && found.lastModified !== note.lastModified)
    return false;
  return range[3] === '*' || note.declaredBytes === null || Number(range[3]) === note.declaredBytes;
}

async function writeAll(handle: FileHandle, chunk: Buffer, position: number): Promise<void> {
  for (let done = 0; done < chunk.length; ) {
    const { bytesWritten } = await handle.write(chunk, done, chunk.length - done, position + done);
    done += bytesWritten;
  }
}

function isDiskFull(error: unknown): boolean {
  return ['ENOSPC', 'EDQUOT'].includes(String((error as NodeJS.ErrnoException).code));
}

function unavailable(message: string, cause?: unknown): SourceError {
  return new SourceError('source_unavailable', message, cause);
}

function diskFull(cause?: unknown): SourceError {
  return new SourceError('disk_full', 'the disk of the archive has too little room', cause);
}

function tooLarge(maxBytes: number, declaredBytes?: number): SourceError {
  const size = declaredBytes === undefined ? 'the file' : `the declared ${declaredBytes} bytes`;
  return new SourceError('declared_too_large', `${size} exceeds the limit of ${maxBytes} bytes`);
}
