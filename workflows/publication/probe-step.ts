import { confirmDate } from '../../pipelines/editions/freshness.ts';
import { recordProbe } from '../../pipelines/editions/heads.ts';
import { detectPublication, type KnownVersion, lastKnownVersion } from '../../pipelines/editions/publications.ts';
import { dateOnPage } from '../../pipelines/registers/dating.ts';
import { addressesOf, isByMonth } from '../../pipelines/registers/settings.ts';
import { probeSite, SourceError, type Validators } from '../../pipelines/registers/site.ts';
import { inTransaction } from '../../pipelines/runtime/postgres.ts';
import type { RegisterName } from '../../schemas/registers.ts';
import type { FetchParts } from './fetch-steps.ts';
import type { ProbeOutcome } from './messages.ts';

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
