import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { PublishedDay } from './register/day.ts';

/** One version of a published file, as the site serves it. */
export interface SiteFile {
  bytes: Buffer;
  lastModified: Date;
  etag: string;
}

/**
 * A real HTTP server on loopback that behaves as SUNAT's site does on a good day. It serves pages that name the day of
 * publication, and files with ETag, Last-Modified, conditional requests and byte ranges (RFC 9110, sections 13 and 14).
 * A newer version of a file replaces the older version. Tests replace `answer` to make the site misbehave.
 */
export class OfficialSite {
  readonly #server: Server;
  readonly #files = new Map<string, SiteFile>();
  readonly #pages = new Map<string, string>();

  constructor() {
    this.#server = createServer((request, response) => {
      this.answer(request, response, this.fileAt(request.url ?? ''));
    });
  }

  async start(): Promise<void> {
    await once(this.#server.listen(0, '127.0.0.1'), 'listening');
  }

  get origin(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Replaces a file by a new version (bytes, or the path of a file), as the site does each night. */
  place(sitePath: string, file: Buffer | string, lastModified: Date): void {
    const bytes = typeof file === 'string' ? readFileSync(file) : file;
    const hash = createHash('sha256').update(bytes).digest('hex').slice(0, 16);
    this.#files.set(sitePath, { bytes, lastModified, etag: `"${hash}-${lastModified.getTime().toString(16)}"` });
  }

  placePage(sitePath: string, html: string): void {
    this.#pages.set(sitePath, html);
  }

  /** Shows all files and pages of a day. Files of earlier days that this day does not replace stay. */
  show({ files, pages, lastModified }: PublishedDay): void {
    for (const { sitePath, path } of files) this.place(sitePath, path, lastModified);
    for (const { sitePath, html } of pages) this.placePage(sitePath, html);
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }

  protected fileAt(sitePath: string): SiteFile | null {
    return this.#files.get(sitePath) ?? null;
  }

  protected answer(request: IncomingMessage, response: ServerResponse, file: SiteFile | null): void {
    const page = this.#pages.get(request.url ?? '') ?? '';
    if (file !== null) serveFile(request, response, file);
    else if (page !== '') response.writeHead(200, { 'content-type': 'text/html' }).end(page);
    else response.writeHead(404, { 'content-type': 'text/html' }).end('<h1>404</h1>');
  }
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

/** The first byte that the request asks for (`bytes=N-`), or null when the whole file is to be sent. */
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
