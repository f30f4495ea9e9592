import { stat } from 'node:fs/promises';
import { type Archive, ArchiveError, type ObjectName } from '../../pipelines/archive/archive.ts';
import { openPublication } from '../../pipelines/diff/publication.ts';
import type { PublicationLimits } from '../../pipelines/diff/zip.ts';
import { confirmDate, datePublication } from '../../pipelines/editions/freshness.ts';
import { readHead, recordProbe } from '../../pipelines/editions/heads.ts';
import {
  detectPublication,
  findPublication,
  type KnownVersion,
  lastKnownVersion,
  movePublication,
  recordDownload,
} from '../../pipelines/editions/publications.ts';
import { dateOf, dateOnPage } from '../../pipelines/registers/dating.ts';
import { type Downloaded, type DownloadLimits, download } from '../../pipelines/registers/download.ts';
import type { RegisterSource } from '../../pipelines/registers/module.ts';
import { PartFile } from '../../pipelines/registers/part-file.ts';
import { addressesOf, isByMonth, type Sources } from '../../pipelines/registers/settings.ts';
import { probeSite, type SiteAccess, SourceError, type Validators } from '../../pipelines/registers/site.ts';
import { inTransaction, type Pool } from '../../pipelines/runtime/postgres.ts';
import type { RegisterName } from '../../schemas/registers.ts';
import { approveCommand, faultOf } from './judge.ts';
import type { FetchOutcome, ProbeOutcome, StepRun } from './messages.ts';

export interface FetchDependencies extends StepRun {
  pool: Pool;
  archive: Archive;
  access: SiteAccess;
  sources: Sources;
  downloadLimits: DownloadLimits;
  zipLimits: PublicationLimits;
}

/** How much of a text is read to find its date. A text that contains its own date has it in its first rows. */
const maxDatedTextBytes = 64 * 1024;

/**
 * Downloads a publication, archives it and records it in PostgreSQL. A repeat skips what is done. The note that the
 * download is finished (part-file.ts) is removed only after PostgreSQL has the publication. Without the note, a repeat
 * would download the file again.
 */
export async function fetchPublication(
  dependencies: FetchDependencies,
  register: RegisterName,
  id: number,
): Promise<FetchOutcome> {
  const publication = await findPublication(dependencies.pool, id);
  if (publication === null || publication.state !== 'detectada') return { outcome: 'known', publicationId: id };
  const file = await dependencies.archive.incomingFile(`${register}-${id}.part`);
  // The address at which this publication was found. A monthly file has another address each month, so the register's
  // newest file may be elsewhere by now.
  const url = publication.url ?? dependencies.sources[register].url;
  const downloaded = await downloadOrRefuse(dependencies, { register, id, url, file });
  if (downloaded === null) return { outcome: 'quarantined', publicationId: id };
  const { sha256, bytes } = downloaded.finished;
  const name = { register, kind: 'publications', sha256 } as const;
  if ((await stat(file).catch(() => null)) !== null) await putOrStartOver(dependencies.archive, name, file);
  const source = dependencies.sources[register];
  const { lastModified, answeredAt, etag } = downloaded;
  const { textStart, fault } = await inspect(dependencies, source, name, id);
  const { published_at: headPublishedAt } = await readHead(dependencies.pool, register);
  const times = { lastModified, answeredAt, headPublishedAt };
  const dating = await dateOf(dependencies.access, source, { ...times, textStart }, dependencies.signal);
  const date = 'undated' in dating ? null : dating;
  const problem = fault ?? ('undated' in dating ? `date_unknown: ${dating.undated}` : null);
  const version = { etag, lastModified };
  // If the process dies before this commit, the archived file and the note of the finished download (part-file.ts)
  // remain. The repeat then downloads nothing and comes here again.
  const recorded = await inTransaction(dependencies.pool, (client) =>
    recordDownload(client, id, { sha256, bytes, version, date }, problem),
  );
  await new PartFile(file).discard();
  if (recorded.known) return { outcome: 'known', publicationId: recorded.id };
  return { outcome: problem === null ? 'archived' : 'quarantined', publicationId: recorded.id };
}

/** Downloads a publication. If its file is larger than the limit, puts it in quarantine and returns null. */
async function downloadOrRefuse(
  dependencies: FetchDependencies,
  { register, id, url, file }: { register: RegisterName; id: number; url: string; file: string },
): Promise<Downloaded | null> {
  try {
    const part = new PartFile(file);
    const note = await part.readNote();
    if (note?.finished != null) {
      const { url: from, finished } = note;
      const archived = await dependencies.archive.size({ register, kind: 'publications', sha256: finished.sha256 });
      // An earlier process moved the file into the archive, and died before PostgreSQL recorded the download. So there
      // is nothing to download.
      if (from === url && archived !== null) return { ...note, finished };
      if ((await part.size()) !== finished.bytes) await part.discard();
    }
    return await download({ ...dependencies, url, file, limits: dependencies.downloadLimits });
  } catch (error) {
    if (!(error instanceof SourceError) || error.code !== 'declared_too_large') throw error;
    const reason = `too_large: ${error.message}`;
    await movePublication(dependencies.pool, id, { from: ['detectada'], to: 'en_cuarentena', reason });
    await new PartFile(file).discard();
    return null;
  }
}

/**
 * Archives the file. Its bytes may have changed since they were received, because two processes wrote the file or the
 * disk is faulty. Then the file and its note (part-file.ts) are removed, and an error is thrown, so that the next try
 * downloads again. Otherwise every try would fail on these bytes.
 */
async function putOrStartOver(archive: Archive, name: ObjectName, file: string): Promise<void> {
  try {
    await archive.put(name, file);
  } catch (error) {
    if (!(error instanceof ArchiveError) || error.code !== 'hash_mismatch') throw error;
    await new PartFile(file).discard();
    const what = 'the downloaded file has changed on this disk: it is downloaded again';
    throw new SourceError('source_unavailable', what, error);
  }
}

/** Opens the archived file. Returns its fault or null, and the beginning of its text if the date is read from there. */
async function inspect(
  dependencies: FetchDependencies,
  source: RegisterSource,
  name: ObjectName,
  id: number,
): Promise<{ textStart: Buffer | null; fault: string | null }> {
  try {
    const file = await dependencies.archive.localFile(name);
    const text = await openPublication(file, source.container, dependencies.zipLimits);
    return { textStart: source.date.from === 'text' ? await startOf(text.chunks()) : null, fault: null };
  } catch (error) {
    const fault = faultOf(error, approveCommand(id));
    if (fault === null) throw error;
    return { textStart: null, fault };
  }
}

async function startOf(chunks: AsyncIterable<Buffer>): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of chunks) {
    pieces.push(chunk);
    bytes += chunk.length;
    if (bytes >= maxDatedTextBytes) break;
  }
  return Buffer.concat(pieces).subarray(0, maxDatedTextBytes);
}

/**
 * A partial download that was not continued for this long is removed. By then the site has usually replaced that
 * version of the file. If the site still has it, the version is downloaded again from its start.
 */
const maxPartAgeMs = 7 * 24 * 60 * 60 * 1000;

/** Asks whether the site has a version that we lack, and records that version in PostgreSQL as `detectada`. */
export async function probe(dependencies: FetchDependencies, register: RegisterName): Promise<ProbeOutcome> {
  await dependencies.archive.discardIncoming(maxPartAgeMs);
  const known = await lastKnownVersion(dependencies.pool, register);
  const found = await findNewest(dependencies, register, known);
  await recordProbe(dependencies.pool, register);
  if (found.validators === null) {
    if (known !== null) await askPage(dependencies, register, known);
    return { outcome: 'nothing_new', publicationId: null };
  }
  const { validators, url } = found;
  // If the process dies before the commit, the next probe sees the same version again. If it dies after the commit, the
  // next probe finds the row.
  const detected = await inTransaction(dependencies.pool, (client) =>
    detectPublication(client, register, validators, url),
  );
  if (!detected.isNew) await askPage(dependencies, register, detected);
  return { outcome: detected.isNew ? 'new' : 'nothing_new', publicationId: detected.id };
}

/**
 * Returns the first address with a publication. Asks for the newest month first, and for no month before that of the
 * known version. `validators` is null if the site still has the known version. An HTML page at a monthly address is no
 * publication, so the month before is asked. At the only address of a register, an HTML page counts as a publication,
 * and its bytes end in quarantine.
 * @throws SourceError retryable, when no address has a publication, or an answer is unclear (see probeSite)
 */
async function findNewest(
  dependencies: FetchDependencies,
  register: RegisterName,
  known: KnownVersion | null,
): Promise<{ url: string; validators: Validators | null }> {
  const { url: pattern } = dependencies.sources[register];
  for (const url of addressesOf(pattern, new Date())) {
    const isKnown = known !== null && (known.url === null || known.url === url);
    const found = await probeSite(dependencies.access, url, isKnown ? known.validators : null, dependencies.signal);
    if (found.found === 'unchanged') return { url, validators: null };
    const isPublication = found.found === 'version' && !(found.isPage && isByMonth(pattern));
    if (isPublication) return { url, validators: found.validators };
    if (isKnown && isByMonth(pattern)) break;
  }
  throw new SourceError('source_unavailable', 'the site has no file at the address of this register (404)');
}

/**
 * Asks the register's page for the date of bytes that we already have. If the bytes are the head's and the page shows a
 * newer day, the register's date moves forward. If the bytes are a publication that waits in quarantine for a date, the
 * publication gets the page's date and goes on. If the page cannot be read now, the next probe asks again.
 */
async function askPage(
  dependencies: FetchDependencies,
  register: RegisterName,
  { id, sha256, waitsForDate }: Pick<KnownVersion, 'id' | 'sha256' | 'waitsForDate'>,
): Promise<void> {
  const { pool, access, signal } = dependencies;
  const source = dependencies.sources[register];
  if (sha256 === null || source.date.from === 'text' || (source.date.from !== 'page' && !waitsForDate)) return;
  try {
    if (!waitsForDate) {
      const date = await dateOnPage(access, source, signal);
      if (!('undated' in date)) await confirmDate(pool, register, sha256, date.fechaDato);
      return;
    }
    const { validators, downloaded_at } = (await findPublication(pool, id))!;
    const { published_at: headPublishedAt } = await readHead(pool, register);
    // `answeredAt` is the latest time at which the file can have been published. The answer's header `Date` was not
    // stored, so the time of the download stands in for it.
    const answeredAt = downloaded_at?.toUTCString() ?? null;
    const times = { lastModified: validators.last_modified ?? null, answeredAt, headPublishedAt };
    const date = await dateOf(access, source, { ...times, textStart: null }, signal);
    if (!('undated' in date)) await datePublication(pool, id, date);
  } catch (error) {
    if (!(error instanceof SourceError) || error.code === 'cancelled') throw error;
  }
}
