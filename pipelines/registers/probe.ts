import { readCapped } from '../../deploy/runtime/egress/body.ts';
import { askSite, drop, type SiteAccess, SourceError, type Validators, validatorsOf } from './site.ts';

export type ProbeResult = { found: 'unchanged' } | { found: 'version'; validators: Validators };

/**
 * Asks which version of a file the site has now, without taking it: a conditional HEAD, and where the site knows no HEAD
 * a conditional GET that is left after its headers.
 * @throws SourceError retryable for any answer but 200 and 304
 */
export async function probeSite(
  access: SiteAccess,
  url: string,
  known: Validators | null,
  signal: AbortSignal,
): Promise<ProbeResult> {
  const headers: Record<string, string> = {};
  if (known?.etag != null) headers['if-none-match'] = known.etag;
  if (known?.lastModified != null) headers['if-modified-since'] = known.lastModified;
  let answer = await askSite(access, { url, method: 'HEAD', headers, signal });
  if ([400, 403, 404, 405, 501].includes(answer.status)) {
    drop(answer);
    answer = await askSite(access, { url, method: 'GET', headers, signal });
  }
  drop(answer);
  if (answer.status === 304) return { found: 'unchanged' };
  if (answer.status === 200) return { found: 'version', validators: validatorsOf(answer.headers) };
  throw new SourceError('source_unavailable', `the site answered ${answer.status} to a probe`, { retryable: true });
}

/** A small page of the site as text (Latin-1 or UTF-8 alike in what we look for), or null when it cannot be had. */
export async function readPage(
  access: SiteAccess,
  url: string,
  maxBytes: number,
  signal: AbortSignal,
): Promise<string | null> {
  try {
    const answer = await askSite(access, { url, method: 'GET', headers: {}, signal });
    const { body } = await readCapped(answer.body, answer.headers['content-encoding'], maxBytes);
    return answer.status === 200 ? body.toString('latin1') : null;
  } catch (error) {
    if (error instanceof SourceError && error.code !== 'cancelled') return null;
    throw error;
  }
}
