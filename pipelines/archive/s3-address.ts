import { ArchiveError } from './archive.ts';

export interface S3Address {
  bucket: string;
  /** Empty, or ends with a slash. */
  prefix: string;
  region: string;
  /** Of a store that is not Amazon's; null: the region's own. */
  endpoint: string | null;
  /** The bucket stands in the path instead of the host name. */
  pathStyle: boolean;
}

const parameters = ['region', 'endpoint', 'path_style'];

/** `s3://bucket/prefix?region=us-east-1&endpoint=https://host:port&path_style=1`. @throws ArchiveError `name_invalid` */
export function s3AddressOf(archiveUrl: string): S3Address {
  const url = URL.canParse(archiveUrl) ? new URL(archiveUrl) : null;
  if (url?.protocol !== 's3:' || url.hostname === '') throw wrong('is not s3://bucket/prefix');
  if (url.username !== '' || url.password !== '') throw wrong('holds credentials: they belong in the environment');
  const unknown = [...url.searchParams.keys()].find((name) => !parameters.includes(name));
  if (unknown !== undefined) throw wrong(`has a parameter other than ${parameters.join(', ')}`);
  const endpoint = url.searchParams.get('endpoint');
  if (endpoint !== null && !/^https?:\/\/[^/]+\/?$/.test(endpoint))
    throw wrong('has an endpoint that is not http(s)://host');
  const path = url.pathname.replace(/^\/+|\/+$/g, '');
  return {
    bucket: url.hostname,
    prefix: path === '' ? '' : `${path}/`,
    region: url.searchParams.get('region') ?? 'us-east-1',
    endpoint,
    pathStyle: url.searchParams.get('path_style') === '1',
  };
}

function wrong(what: string): ArchiveError {
  return new ArchiveError('name_invalid', `ARCHIVE_URL ${what}`);
}

/** Answers that no repeat changes: an operator has to look at credentials, bucket or policy. */
const refusals = new Set([400, 401, 403, 405, 411, 412, 501]);

/**
 * Runs a call of the client, which repeats by itself what may pass. Null where the object is not there.
 * @throws ArchiveError `refused`, `unavailable`
 */
export async function guard<Result>(what: string, call: () => Promise<Result>): Promise<Result | null> {
  try {
    return await call();
  } catch (error) {
    const { name, $metadata } = error as { name?: string; $metadata?: { httpStatusCode?: number } };
    const status = $metadata?.httpStatusCode;
    if (name === 'NoSuchKey' || (name === 'NotFound' && status === 404)) return null;
    // The client's error carries the request with its signature: only name and status are told, and no cause.
    const told = `the archive's store answered ${what} with ${status ?? 'nothing'} (${name ?? 'unknown'})`;
    const refused = name === 'NoSuchBucket' || name === 'CredentialsProviderError' || refusals.has(status ?? 0);
    if (refused) throw new ArchiveError('refused', `${told}: check credentials, bucket and policy`);
    throw new ArchiveError('unavailable', told);
  }
}
