import { createReadStream, createWriteStream } from 'node:fs';
import { rm, stat } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import {
  DeleteObjectCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  S3Client,
} from '@aws-sdk/client-s3';
import { Upload } from '@aws-sdk/lib-storage';
import {
  type Archive,
  ArchiveError,
  notFound,
  type ObjectName,
  objectKey,
  removableKey,
  type TextStore,
  textKey,
} from './archive.ts';
import { checkHash, IncomingFiles, type LocalCopies } from './local-copies.ts';

/** An upload takes `partsInFlight` × `partBytes` of memory. The protocol allows at most 10,000 parts. */
const partBytes = 16 * 2 ** 20;
const partsInFlight = 3;
const limits = { connectTimeoutMs: 5_000, requestTimeoutMs: 60_000, attempts: 5 } as const;

interface S3Bucket extends S3Address {
  client: S3Client;
}

/** The client takes its credentials from the environment (AWS_ACCESS_KEY_ID, …). The address never holds any. */
export function openS3Bucket(archiveUrl: string): S3Bucket {
  const address = s3AddressOf(archiveUrl);
  const client = new S3Client({
    region: address.region,
    forcePathStyle: address.pathStyle,
    ...(address.endpoint === null ? {} : { endpoint: address.endpoint }),
    maxAttempts: limits.attempts,
    requestHandler: { connectionTimeout: limits.connectTimeoutMs, requestTimeout: limits.requestTimeoutMs },
  });
  return { ...address, client };
}

/**
 * The archive as a bucket: objects are `<prefix>/<register>/<kind>/<sha256>`. Unfinished files and copies are local.
 */
export class S3Archive extends IncomingFiles implements Archive {
  readonly #bucket: S3Bucket;
  readonly #copies: LocalCopies;

  constructor(bucket: S3Bucket, copies: LocalCopies, incomingFolder: string) {
    super(incomingFolder);
    this.#bucket = bucket;
    this.#copies = copies;
  }

  /** Two processes that put the same name put the same bytes, so neither needs to be refused. */
  async put(name: ObjectName, file: string): Promise<'stored' | 'already_there'> {
    if ((await this.size(name)) !== null) {
      await rm(file, { force: true });
      return 'already_there';
    }
    await checkHash(file, name.sha256);
    const { client, bucket } = this.#bucket;
    await guard('put', () =>
      new Upload({
        client,
        params: { Bucket: bucket, Key: this.#key(name), Body: createReadStream(file, { highWaterMark: 2 ** 20 }) },
        partSize: partBytes,
        queueSize: partsInFlight,
      }).done(),
    );
    // A bucket shows an object whole or not at all. A death here leaves the local file, which the repeat removes.
    const { size } = await stat(file);
    const stored = await this.size(name);
    if (stored !== size) throw new ArchiveError('hash_mismatch', `${objectKey(name)} has ${stored} of ${size} bytes`);
    await rm(file, { force: true });
    return 'stored';
  }

  async size(name: ObjectName): Promise<number | null> {
    const { client, bucket } = this.#bucket;
    const command = new HeadObjectCommand({ Bucket: bucket, Key: this.#key(name) });
    const head = await guard('head', () => client.send(command));
    return head === null ? null : (head.ContentLength ?? 0);
  }

  localFile(name: ObjectName): Promise<string> {
    return this.#copies.of(objectKey(name), name.sha256, async (path) => {
      await pipeline(await this.read(name), createWriteStream(path, { flags: 'wx' }));
    });
  }

  async read(name: ObjectName): Promise<Readable> {
    const { client, bucket } = this.#bucket;
    const command = new GetObjectCommand({ Bucket: bucket, Key: this.#key(name) });
    const found = await guard('get', () => client.send(command));
    if (found === null) throw notFound(name);
    return found.Body as Readable;
  }

  async remove(name: ObjectName): Promise<void> {
    const key = removableKey(name);
    const { client, bucket } = this.#bucket;
    await guard('delete', () => client.send(new DeleteObjectCommand({ Bucket: bucket, Key: this.#key(name) })));
    await this.#copies.discard(key);
  }

  #key(name: ObjectName): string {
    return this.#bucket.prefix + objectKey(name);
  }
}

/** The text store as a bucket: texts are objects `<prefix>/<root>/<folder>/<file>`. */
export class S3Texts implements TextStore {
  readonly #bucket: S3Bucket;
  readonly #root: string;

  constructor(bucket: S3Bucket, root: string) {
    this.#bucket = bucket;
    this.#root = `${bucket.prefix}${root}/`;
  }

  async put(folder: string, file: string, text: string): Promise<'stored' | 'already_there'> {
    // Two processes that put at once both write. Both have the id from one registry, so they write the same schema.
    if ((await this.read(folder, file)) !== null) return 'already_there';
    const { client, bucket } = this.#bucket;
    const command = new PutObjectCommand({ Bucket: bucket, Key: this.#key(folder, file), Body: text });
    await guard('put', () => client.send(command));
    return 'stored';
  }

  async read(folder: string, file: string): Promise<string | null> {
    const { client, bucket } = this.#bucket;
    const command = new GetObjectCommand({ Bucket: bucket, Key: this.#key(folder, file) });
    const found = await guard('get', () => client.send(command));
    return found === null ? null : await found.Body!.transformToString('utf-8');
  }

  async list(folder: string): Promise<string[]> {
    const { client, bucket } = this.#bucket;
    const prefix = `${this.#root}${folder}/`;
    const files: string[] = [];
    for (let token: string | undefined; ; ) {
      const command = new ListObjectsV2Command({ Bucket: bucket, Prefix: prefix, ContinuationToken: token });
      const page = await guard('list', () => client.send(command));
      for (const { Key } of page?.Contents ?? []) if (Key !== undefined) files.push(Key.slice(prefix.length));
      token = page?.NextContinuationToken;
      if (token === undefined) return files;
    }
  }

  #key(folder: string, file: string): string {
    return this.#root + textKey(folder, file);
  }
}

interface S3Address {
  bucket: string;
  /** Empty, or ends with a slash. */
  prefix: string;
  region: string;
  /** Address of a store that is not Amazon's. Null stands for Amazon's endpoint in the region. */
  endpoint: string | null;
  /** Whether requests name the bucket in the path instead of the host name. */
  pathStyle: boolean;
}

const parameters = ['region', 'endpoint', 'path_style'];

/**
 * `s3://bucket/prefix?region=us-east-1&endpoint=https://host:port&path_style=1`.
 * @throws ArchiveError `name_invalid`
 */
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

/** A repeat does not change these answers: an operator has to check credentials, bucket and policy. */
const refusals = new Set([400, 401, 403, 405, 411, 412, 501]);

/**
 * Runs a call of the client, which itself retries transient failures. Null when there is no such object.
 * @throws ArchiveError `refused`, `unavailable`
 */
async function guard<Result>(what: string, call: () => Promise<Result>): Promise<Result | null> {
  try {
    return await call();
  } catch (error) {
    const { name, $metadata } = error as { name?: string; $metadata?: { httpStatusCode?: number } };
    const status = $metadata?.httpStatusCode;
    if (name === 'NoSuchKey' || (name === 'NotFound' && status === 404)) return null;
    // The client's error carries the signed request, so our error gets only its name and status, and no cause.
    const answer = `the archive's store answered ${what} with ${status ?? 'nothing'} (${name ?? 'unknown'})`;
    const refused = name === 'NoSuchBucket' || name === 'CredentialsProviderError' || refusals.has(status ?? 0);
    if (refused) throw new ArchiveError('refused', `${answer}: check credentials, bucket and policy`);
    throw new ArchiveError('unavailable', answer);
  }
}
