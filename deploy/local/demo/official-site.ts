import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** One version of the published file, as the site serves it. */
export interface SiteFile {
  bytes: Buffer;
  lastModified: Date;
  etag: string;
}

export const filePath = '/padron_reducido_ruc.zip';

/**
 * An official site on loopback that behaves as SUNAT's does where it is well: one file, replaced by its newer version,
 * with ETag, Last-Modified, conditional requests and byte ranges (RFC 9110 13 and 14), and a landing page. A real HTTP
 * server. `intercept` answers instead where it wants to: tests make it misbehave with it.
 */
export class OfficialSite {
  readonly #server: Server;
  file: SiteFile | null = null;
  page = '';
  intercept: ((request: IncomingMessage, response: ServerResponse, file: SiteFile | null) => boolean) | null = null;

  constructor() {
    this.#server = createServer((request, response) => {
      if (this.intercept?.(request, response, this.file)) return;
      this.#answer(request, response);
    });
  }

  async start(port = 0): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen(port, '127.0.0.1', resolve);
    });
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}${filePath}`;
  }

  get pageUrl(): string {
    return new URL('/', this.url).href;
  }

  /** Puts a new version (bytes, or a file's path) in place of the one before, as the site does each night. */
  publish(file: Buffer | string, lastModified: Date): void {
    const bytes = typeof file === 'string' ? readFileSync(file) : file;
    const hash = createHash('sha256').update(bytes).digest('hex').slice(0, 16);
    this.file = { bytes, lastModified, etag: `"${hash}-${lastModified.getTime().toString(16)}"` };
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    if (request.url === '/' && this.page !== '') {
      response.writeHead(200, { 'content-type': 'text/html' }).end(this.page);
      return;
    }
    if (request.url !== filePath || this.file === null) {
      response.writeHead(404, { 'content-type': 'text/html' }).end('<h1>404</h1>');
      return;
    }
    serveFile(request, response, this.file);
  }
}

export async function startOfficialSite(): Promise<OfficialSite> {
  const site = new OfficialSite();
  await site.start();
  return site;
}

export function serveFile(request: IncomingMessage, response: ServerResponse, file: SiteFile): void {
  const validators = { etag: file.etag, 'last-modified': file.lastModified.toUTCString() };
  if (isUnchanged(request, file)) {
    response.writeHead(304, validators).end();
    return;
  }
  const headers = { ...validators, 'content-type': 'application/zip', 'accept-ranges': 'bytes' };
  const total = file.bytes.length;
  const from = rangeStart(request, file);
  if (from !== null && from >= total) {
    response.writeHead(416, { 'content-range': `bytes */${total}` }).end();
    return;
  }
  const body = file.bytes.subarray(from ?? 0);
  response.writeHead(from === null ? 200 : 206, {
    ...headers,
    'content-length': body.length,
    ...(from === null ? {} : { 'content-range': `bytes ${from}-${total - 1}/${total}` }),
  });
  response.end(request.method === 'HEAD' ? undefined : body);
}

function isUnchanged(request: IncomingMessage, file: SiteFile): boolean {
  const etag = request.headers['if-none-match'];
  if (etag !== undefined) return etag === file.etag;
  const since = request.headers['if-modified-since'];
  return since !== undefined && seconds(new Date(since)) >= seconds(file.lastModified);
}

/** First byte of an open range that applies, or null for the whole file. */
function rangeStart(request: IncomingMessage, file: SiteFile): number | null {
  const range = /^bytes=(\d+)-$/.exec(request.headers.range ?? '');
  const condition = request.headers['if-range'];
  if (request.method !== 'GET' || range === null) return null;
  if (condition !== undefined && condition !== file.etag && condition !== file.lastModified.toUTCString()) return null;
  return Number(range[1]);
}

function seconds(at: Date): number {
  return Math.floor(at.getTime() / 1000);
}
