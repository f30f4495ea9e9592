import { readCapped } from '../runtime/egress/request.ts';
import {
  askSite,
  drop,
  type SiteAccess,
  SourceError,
  unexpectedAnswer,
  type Validators,
  validatorsOf,
} from './site.ts';

export type ProbeResult =
  | { found: 'unchanged' }
  | { found: 'version'; validators: Validators; isPage: boolean }
  /** 404 or 410: nothing is published there. */
  | { found: 'absent' };

/**
 * Asks which version of a file the site has now, without taking it: a conditional HEAD, and where the site knows no HEAD
 * a conditional GET that is left after its headers.
 * `isPage`: it calls itself HTML, as error pages do that come with 200.
 * @throws SourceError retryable for any other answer
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
  if (answer.status === 404 || answer.status === 410) return { found: 'absent' };
  if (answer.status !== 200) throw unexpectedAnswer(answer.status);
  const isPage = /^text\/html\b/i.test(String(answer.headers['content-type'] ?? ''));
  return { found: 'version', validators: validatorsOf(answer.headers), isPage };
}

/**
 * A small page of the site as text (Latin-1 or UTF-8 alike in what we look for), or null when there is none (404, 410).
 * @throws SourceError retryable for any other answer and for none
 */
export async function readPage(
  access: SiteAccess,
  url: string,
  maxBytes: number,
  signal: AbortSignal,
): Promise<string | null> {
  const answer = await askSite(access, { url, method: 'GET', headers: {}, signal });
  if (answer.status === 404 || answer.status === 410) {
    drop(answer);
    return null;
  }
  if (answer.status !== 200) {
    drop(answer);
    throw unexpectedAnswer(answer.status);
  }
  const { body, problem } = await readCapped(answer.body, answer.headers['content-encoding'], maxBytes);
  if (problem === 'broken') {
    throw new SourceError('source_unavailable', 'the connection was lost while its page was read', { retryable: true });
  }
  return body.toString('latin1');
}
