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

/**
 * An upload takes `partsInFlight` × `partBytes` of memory. S3 allows at most 10,000 parts per upload, so the largest
 * object has 156 GiB.
 */
const partBytes = 16 * 2 ** 20;
const partsInFlight = 3;
const limits = { connectTimeoutMs: 5_000, requestTimeoutMs: 60_000, attempts: 5 } as const;

interface S3Bucket extends S3Address {
  client: S3Client;
}

/** The address never holds credentials. The client takes them from the environment (AWS_ACCESS_KEY_ID, …). */
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
 * An archive in a bucket: objects are `<prefix>/<register>/<kind>/<sha256>`. Unfinished files and copies of objects are
 * in local folders.
 */
export class S3Archive extends IncomingFiles implements Archive {
  readonly #bucket: S3Bucket;
  readonly #copies: LocalCopies;

  constructor(bucket: S3Bucket, copies: LocalCopies, incomingFolder: string) {
    super(incomingFolder);
    this.#bucket = bucket;
    this.#copies = copies;
  }

  /** Two processes may put the same object at once. Their bytes are the same, so neither process is refused. */
  async put(name: ObjectName, file: string): Promise<'stored' | 'already_there'> {
    if ((await this.size(name)) !== null) {
      await rm(file, { force: true });
      return 'already_there';
    }
    await checkHash(file, name.sha256);
    await guard('put', () =>
      new Upload({
        client: this.#bucket.client,
        params: { ...this.#at(name), Body: createReadStream(file, { highWaterMark: 2 ** 20 }) },
        partSize: partBytes,
        queueSize: partsInFlight,
      }).done(),
    );
    // The bucket has the whole object now. If the process dies here, the local file is left. A repeated `put` removes
    // the file.
    const { size } = await stat(file);
    const stored = await this.size(name);
    if (stored !== size) throw new ArchiveError('hash_mismatch', `${objectKey(name)} has ${stored} of ${size} bytes`);
    await rm(file, { force: true });
    return 'stored';
  }

  async size(name: ObjectName): Promise<number | null> {
    const command = new HeadObjectCommand(this.#at(name));
    const head = await guard('head', () => this.#bucket.client.send(command));
    return head === null ? null : (head.ContentLength ?? 0);
  }

  localFile(name: ObjectName): Promise<string> {
    return this.#copies.of(objectKey(name), name.sha256, async (path) => {
      await pipeline(await this.read(name), createWriteStream(path, { flags: 'wx' }));
    });
  }

  async read(name: ObjectName): Promise<Readable> {
    const command = new GetObjectCommand(this.#at(name));
    const found = await guard('get', () => this.#bucket.client.send(command));
    if (found === null) throw notFound(name);
    return found.Body as Readable;
  }

  async remove(name: ObjectName): Promise<void> {
    const key = removableKey(name);
    await guard('delete', () => this.#bucket.client.send(new DeleteObjectCommand(this.#at(name))));
    await this.#copies.discard(key);
  }

  #at(name: ObjectName): { Bucket: string; Key: string } {
    const { bucket, prefix } = this.#bucket;
    return { Bucket: bucket, Key: prefix + objectKey(name) };
  }
}

/** Keeps the texts of a text store in a bucket, as objects `<prefix>/<root>/<folder>/<file>`. */
export class S3Texts implements TextStore {
  readonly #bucket: S3Bucket;
  readonly #root: string;

  constructor(bucket: S3Bucket, root: string) {
    this.#bucket = bucket;
    this.#root = `${bucket.prefix}${root}/`;
  }

  async put(folder: string, file: string, text: string): Promise<'stored' | 'already_there'> {
    // Two processes may both find no text here, and then both write it. This does no harm: a schema is named by its id
    // in one schema registry, and an edition's facts by the hash of its change file, so both write the same.
    if ((await this.read(folder, file)) !== null) return 'already_there';
    const command = new PutObjectCommand({ ...this.#at(folder, file), Body: text });
    await guard('put', () => this.#bucket.client.send(command));
    return 'stored';
  }

  async read(folder: string, file: string): Promise<string | null> {
    const command = new GetObjectCommand(this.#at(folder, file));
    const found = await guard('get', () => this.#bucket.client.send(command));
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

  #at(folder: string, file: string): { Bucket: string; Key: string } {
    return { Bucket: this.#bucket.bucket, Key: this.#root + textKey(folder, file) };
  }
}

interface S3Address {
  bucket: string;
  /** The prefix is empty or ends with a slash. */
  prefix: string;
  region: string;
  /** Address of a store that is not Amazon's. Null means Amazon's own endpoint in the region. */
  endpoint: string | null;
  /** Whether requests name the bucket in the path instead of the host name. */
  pathStyle: boolean;
}

const parameters = ['region', 'endpoint', 'path_style'];

/**
 * Parses `s3://bucket/prefix?region=us-east-1&endpoint=https://host:port&path_style=1`.
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

/** HTTP statuses that a repeated call would get again. An operator has to check credentials, bucket and policy. */
const refusals = new Set([400, 401, 403, 405, 411, 412, 501]);

/**
 * Runs a call of the S3 client, which retries transient failures itself. Returns null if the object does not exist.
 * Callers must check the object's name first. Otherwise a wrong name would be reported as `unavailable` and tried
 * again.
 * @throws ArchiveError `refused`, or `unavailable` for every other error of `call`
 */
async function guard<Result>(what: string, call: () => Promise<Result>): Promise<Result | null> {
  try {
    return await call();
  } catch (error) {
    const { name, $metadata } = error as { name?: string; $metadata?: { httpStatusCode?: number } };
    const status = $metadata?.httpStatusCode;
    if (name === 'NoSuchKey' || (name === 'NotFound' && status === 404)) return null;
    // The client's error contains the signed request. So our error keeps only its name and status, and has no `cause`.
    const answer = `the archive's store answered ${what} with ${status ?? 'nothing'} (${name ?? 'unknown'})`;
    const refused = name === 'NoSuchBucket' || name === 'CredentialsProviderError' || refusals.has(status ?? 0);
    if (refused) throw new ArchiveError('refused', `${answer}: check credentials, bucket and policy`);
    throw new ArchiveError('unavailable', answer);
  }
}
