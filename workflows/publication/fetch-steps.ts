import { stat } from 'node:fs/promises';
import { inTransaction, type Pool } from '../../deploy/runtime/postgres.ts';
import type { Archive } from '../../pipelines/archive/archive.ts';
import { CompareError } from '../../pipelines/diff/errors.ts';
import { openPublication, type ZipLimits } from '../../pipelines/diff/zip.ts';
import { recordProbe } from '../../pipelines/editions/heads.ts';
import {
  detectPublication,
  findPublication,
  lastKnownVersion,
  movePublication,
  recordDownload,
} from '../../pipelines/editions/publications.ts';
import {
  type Downloaded,
  type DownloadLimits,
  type DownloadProgress,
  download,
} from '../../pipelines/registers/download.ts';
import { PartFile } from '../../pipelines/registers/part-file.ts';
import { probeSite, readPage } from '../../pipelines/registers/probe.ts';
import { type SiteAccess, SourceError } from '../../pipelines/registers/site.ts';
import { dateFromLastModified, type SourceDate } from '../../pipelines/registers/source-date.ts';
import type { RegisterName } from '../../schemas/registers.ts';
import type { FetchOutcome, ProbeOutcome } from './messages.ts';

/** Where a register is published, and how its own page says when. */
export interface RegisterSource {
  url: string;
  pageUrl: string;
  dateFromPage(html: string): SourceDate | null;
}

export interface FetchParts {
  pool: Pool;
  archive: Archive;
  access: SiteAccess;
  sources: Readonly<Record<RegisterName, RegisterSource>>;
  downloadLimits: DownloadLimits;
  zipLimits: ZipLimits;
}

/** Landing pages are a few kilobytes. */
const maxPageBytes = 1_000_000;
/** A part that nobody went on with for so long belongs to a version that the site no longer has. */
const maxPartAgeMs = 7 * 24 * 60 * 60 * 1000;

/** Is there a version that we do not have? The new one stands in the catalogue as `detectada` when this returns. */
export async function probe(parts: FetchParts, register: RegisterName, signal: AbortSignal): Promise<ProbeOutcome> {
  await parts.archive.discardIncoming(maxPartAgeMs);
  const known = await lastKnownVersion(parts.pool, register);
  const found = await probeSite(parts.access, parts.sources[register].url, known, signal);
  await recordProbe(parts.pool, register);
  if (found.found === 'unchanged') return { outcome: 'nothing_new', publicationId: null };
  // Dying before the commit: the next probe sees the same version. After it: it finds the row.
  const { id, isNew } = await inTransaction(parts.pool, (client) =>
    detectPublication(client, register, found.validators),
  );
  return { outcome: isNew ? 'new' : 'nothing_new', publicationId: id };
}

/**
 * Download, then archive, then catalogue. Each part is found done by a repeat: the part file's note outlives the move
 * into the archive and goes only when the catalogue names the publication, so nothing is downloaded twice.
 */
export async function fetchPublication(
  parts: FetchParts,
  register: RegisterName,
  id: number,
  report: (progress: DownloadProgress) => void,
  signal: AbortSignal,
): Promise<FetchOutcome> {
  const publication = await findPublication(parts.pool, id);
  if (publication === null || publication.state !== 'detectada') return { outcome: 'known', publicationId: id };
  const file = await parts.archive.incomingFile(`${register}-${id}.part`);
  const downloaded = await downloadOrRefuse(parts, register, id, file, report, signal);
  if (downloaded === null) return { outcome: 'quarantined', publicationId: id };
  const { sha256, bytes } = downloaded.finished;
  const name = { register, kind: 'publications', sha256 } as const;
  if ((await stat(file).catch(() => null)) !== null) await parts.archive.put(name, file);
  const date = await dateOf(parts, register, downloaded, signal);
  const problem = await problemOf(parts, await parts.archive.localFile(name), date);
  const version = { etag: downloaded.etag, lastModified: downloaded.lastModified };
  // Dying before this commit: the bytes are archived, the note stands, the repeat ends here again.
  const recorded = await inTransaction(parts.pool, (client) =>
    recordDownload(client, id, { sha256, bytes, version, date }, problem),
  );
  await new PartFile(file).discard();
  if (recorded.known) return { outcome: 'known', publicationId: recorded.id };
  return { outcome: problem === null ? 'archived' : 'quarantined', publicationId: recorded.id };
}

/** Null when the site offers something that cannot be the register: an operator has to look. */
async function downloadOrRefuse(
  parts: FetchParts,
  register: RegisterName,
  id: number,
  file: string,
  report: (progress: DownloadProgress) => void,
  signal: AbortSignal,
): Promise<Downloaded | null> {
  const { url } = parts.sources[register];
  try {
    const part = new PartFile(file);
    const note = await part.readNote();
    // Finished and moved into the archive by a process that died before the catalogue knew.
    if (note?.finished != null && note.url === url && (await isArchived(parts, register, note.finished.sha256))) {
      return { ...note, finished: note.finished };
    }
    if (note?.finished != null && (await part.size()) !== note.finished.bytes) await part.discard();
    return await download({ access: parts.access, url, file, limits: parts.downloadLimits, signal, report });
  } catch (error) {
    if (!(error instanceof SourceError) || error.code !== 'declared_too_large') throw error;
    const reason = `too_large: ${error.message}`;
    await movePublication(parts.pool, id, { from: ['detectada'], to: 'en_cuarentena', reason });
    await new PartFile(file).discard();
    return null;
  }
}

async function isArchived(parts: FetchParts, register: RegisterName, sha256: string): Promise<boolean> {
  return (await parts.archive.size({ register, kind: 'publications', sha256 })) !== null;
}

/** `Last-Modified` of the GET that gave the bytes, else the landing page's date. */
async function dateOf(
  parts: FetchParts,
  register: RegisterName,
  downloaded: Downloaded,
  signal: AbortSignal,
): Promise<SourceDate | null> {
  const date = dateFromLastModified(downloaded.lastModified, new Date());
  if (date !== null) return date;
  const source = parts.sources[register];
  const page = await readPage(parts.access, source.pageUrl, maxPageBytes, signal);
  const written = page === null ? null : source.dateFromPage(page);
  return written !== null && written.publishedAt.getTime() <= Date.now() ? written : null;
}

/** What keeps the file from being taken on by itself, for an operator to read; null when nothing does. */
async function problemOf(parts: FetchParts, file: string, date: SourceDate | null): Promise<string | null> {
  try {
    await openPublication(file, parts.zipLimits);
  } catch (error) {
    if (error instanceof CompareError && error.isPublicationFault) return `${error.code}: ${error.message}`;
    throw error;
  }
  if (date !== null) return null;
  return 'date_unknown: neither the download (Last-Modified) nor the landing page says when it was published';
}
