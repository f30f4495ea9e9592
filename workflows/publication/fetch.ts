import { stat } from 'node:fs/promises';
import { type Archive, ArchiveError, type ObjectName } from '../../pipelines/archive/archive.ts';
import { CompareError } from '../../pipelines/changes/errors.ts';
import { openPublication } from '../../pipelines/diff/publication.ts';
import type { PublicationLimits } from '../../pipelines/diff/zip.ts';
import { confirmDate } from '../../pipelines/editions/freshness.ts';
import { recordProbe } from '../../pipelines/editions/heads.ts';
import {
  detectPublication,
  findPublication,
  type KnownVersion,
  lastKnownVersion,
  movePublication,
  recordDownload,
} from '../../pipelines/editions/publications.ts';
import { dateOf, dateOnPage } from '../../pipelines/registers/dating.ts';
import {
  type Downloaded,
  type DownloadLimits,
  type DownloadProgress,
  download,
} from '../../pipelines/registers/download.ts';
import type { RegisterSource } from '../../pipelines/registers/module.ts';
import { PartFile } from '../../pipelines/registers/part-file.ts';
import { addressesOf, isByMonth, type Sources } from '../../pipelines/registers/settings.ts';
import { probeSite, type SiteAccess, SourceError, type Validators } from '../../pipelines/registers/site.ts';
import { inTransaction, type Pool } from '../../pipelines/runtime/postgres.ts';
import type { RegisterName } from '../../schemas/registers.ts';
import type { FetchOutcome, ProbeOutcome } from './messages.ts';

export interface FetchParts {
  pool: Pool;
  archive: Archive;
  access: SiteAccess;
  sources: Sources;
  downloadLimits: DownloadLimits;
  zipLimits: PublicationLimits;
}

/** A date that a text says of itself stands in its first rows. */
const maxDatedTextBytes = 64 * 1024;

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
  // Exactly where it was found: by now the newest month may be another.
  const url = publication.url ?? parts.sources[register].url;
  const downloaded = await downloadOrRefuse(parts, { register, id, url, file }, report, signal);
  if (downloaded === null) return { outcome: 'quarantined', publicationId: id };
  const { sha256, bytes } = downloaded.finished;
  const name = { register, kind: 'publications', sha256 } as const;
  if ((await stat(file).catch(() => null)) !== null) await putOrStartOver(parts.archive, name, file);
  const source = parts.sources[register];
  const { lastModified, etag } = downloaded;
  const { textStart, fault } = await inspect(parts, source, await parts.archive.localFile(name));
  const dating = await dateOf(parts.access, source, { lastModified, textStart }, signal);
  const date = 'undated' in dating ? null : dating;
  const problem = fault ?? ('undated' in dating ? `date_unknown: ${dating.undated}` : null);
  const version = { etag, lastModified };
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
  { register, id, url, file }: { register: RegisterName; id: number; url: string; file: string },
  report: (progress: DownloadProgress) => void,
  signal: AbortSignal,
): Promise<Downloaded | null> {
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

/**
 * What lies on the disk is not what was received: two processes wrote there, or the disk lies. With its note it would be
 * offered to the archive for ever; without it the next try downloads it again.
 */
async function putOrStartOver(archive: Archive, name: ObjectName, file: string): Promise<void> {
  try {
    await archive.put(name, file);
  } catch (error) {
    if (!(error instanceof ArchiveError) || error.code !== 'hash_mismatch') throw error;
    await new PartFile(file).discard();
    const what = 'the downloaded file has changed on this disk: it is downloaded again';
    throw new SourceError('source_unavailable', what, { retryable: true, cause: error });
  }
}

async function isArchived(parts: FetchParts, register: RegisterName, sha256: string): Promise<boolean> {
  return (await parts.archive.size({ register, kind: 'publications', sha256 })) !== null;
}

/** Opens the archived file: what keeps it from being the register, and the beginning of a text that says its own date. */
async function inspect(
  parts: FetchParts,
  source: RegisterSource,
  file: string,
): Promise<{ textStart: Buffer | null; fault: string | null }> {
  try {
    const text = await openPublication(file, source.container, parts.zipLimits);
    return { textStart: source.date.from === 'text' ? await startOf(text.chunks()) : null, fault: null };
  } catch (error) {
    if (!(error instanceof CompareError) || !error.isPublicationFault) throw error;
    return { textStart: null, fault: `${error.code}: ${error.message}` };
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

/** A part that nobody went on with for so long belongs to a version that the site no longer has. */
const maxPartAgeMs = 7 * 24 * 60 * 60 * 1000;

/** Is there a version that we do not have? The new one stands in the catalogue as `detectada` when this returns. */
export async function probe(parts: FetchParts, register: RegisterName, signal: AbortSignal): Promise<ProbeOutcome> {
  await parts.archive.discardIncoming(maxPartAgeMs);
  const known = await lastKnownVersion(parts.pool, register);
  const found = await findNewest(parts, register, known, signal);
  await recordProbe(parts.pool, register);
  if (found.validators === null) {
    await confirmByPage(parts, register, known?.sha256 ?? null, signal);
    return { outcome: 'nothing_new', publicationId: null };
  }
  const { validators, url } = found;
  // Dying before the commit: the next probe sees the same version. After it: it finds the row.
  const { id, isNew, sha256 } = await inTransaction(parts.pool, (client) =>
    detectPublication(client, register, validators, url),
  );
  if (!isNew) await confirmByPage(parts, register, sha256, signal);
  return { outcome: isNew ? 'new' : 'nothing_new', publicationId: id };
}

/**
 * The first address, newest month first, at which something is published; `validators` null says that it is the known version.
 * Nothing is sought in months before that of the known one. An error page that comes with 200 is no publication where
 * another month may be the newest; where there is one address alone it is taken, and its bytes end in quarantine.
 * @throws SourceError retryable when nothing is published anywhere, or the site gives no plain answer
 */
async function findNewest(
  parts: FetchParts,
  register: RegisterName,
  known: KnownVersion | null,
  signal: AbortSignal,
): Promise<{ url: string; validators: Validators | null }> {
  const { url: pattern } = parts.sources[register];
  for (const url of addressesOf(pattern, new Date())) {
    const isKnown = known !== null && (known.url === null || known.url === url);
    const found = await probeSite(parts.access, url, isKnown ? known.validators : null, signal);
    if (found.found === 'unchanged') return { url, validators: null };
    const isPublication = found.found === 'version' && !(found.isPage && isByMonth(pattern));
    if (isPublication) return { url, validators: found.validators };
    if (isKnown && isByMonth(pattern)) break;
  }
  throw new SourceError('source_unavailable', 'the site has no file at the address of this register (404)', {
    retryable: true,
  });
}

/** The site still has known bytes, and the register's own page may say that they are of a newer day. */
async function confirmByPage(
  parts: FetchParts,
  register: RegisterName,
  sha256: string | null,
  signal: AbortSignal,
): Promise<void> {
  const source = parts.sources[register];
  if (sha256 === null || source.date.from !== 'page') return;
  // A page that cannot be read now says nothing; the next probe asks it again.
  const date = await dateOnPage(parts.access, source, signal).catch((error) => {
    if (error instanceof SourceError && error.code !== 'cancelled') return null;
    throw error;
  });
  if (date !== null && !('undated' in date)) await confirmDate(parts.pool, register, sha256, date.fechaDato);
}
