import type { IncomingMessage, ServerResponse } from 'node:http';
import { OfficialSite, type SiteFile, serveFile } from '../../../deploy/local/demo/official-site.ts';
import { sitePaths } from '../../../deploy/local/demo/register/day.ts';
import { registerModules } from '../../../pipelines/registers/modules.ts';
import type { Sources } from '../../../pipelines/registers/settings.ts';
import { registerNames } from '../../../schemas/registers.ts';

/** The path of the daily register on the site. */
const filePath = sitePaths.padron_reducido.file;

/**
 * A misbehaviour of the official site, each observed on a real site or on the network in between. A mode with `times`
 * applies to that many GETs, and then the site works again.
 */
export type Fault =
  | { mode: 'ok' }
  | { mode: 'status'; status: number; times?: number }
  /** Cuts the connection after so many bytes of the answer. */
  | { mode: 'reset'; afterBytes: number; times?: number }
  /** Sends so many bytes, then nothing, and keeps the connection open. */
  | { mode: 'stall'; afterBytes: number; times?: number }
  | { mode: 'html'; lastModified?: boolean }
  /** Ends the answer early and cleanly, without a Content-Length that would reveal it. */
  | { mode: 'truncated'; afterBytes: number }
  | { mode: 'no_dates' }
  | { mode: 'no_head' }
  /** Ignores Range and If-Range and always sends the whole file. */
  | { mode: 'no_ranges' }
  /** Answers a range request with a part of another file. */
  | { mode: 'wrong_range' }
  | { mode: 'declares'; bytes: number }
  | { mode: 'redirect'; to: string };

export class FaultyOfficialSite extends OfficialSite {
  fault: Fault = { mode: 'ok' };
  /** The file that the fault affects: the daily register's, unless `misbehave` names another. */
  #faultyPath: string = filePath;
  /** The method and range of every request for that file, in order. */
  readonly requests: { method: string; range: string | null; ifRange: string | null }[] = [];
  /** All requests as `METHOD /path`, in order. */
  readonly asked: string[] = [];
  /** Called when a fault has cut an answer, so that a test can change the file at this moment. */
  onCut: (() => void) | null = null;
  /** Resolves when the client has taken so many bytes of the file. A cut that came earlier would overtake them. */
  whenTaken: (bytes: number) => Promise<unknown> = () => new Promise((resolve) => setTimeout(resolve, 300));
  #left = Number.POSITIVE_INFINITY;

  /** Called before the fault. It returns true when it has answered the request itself. */
  intercept: ((request: IncomingMessage, response: ServerResponse) => boolean) | null = null;

  /** Address of the daily register. */
  get url(): string {
    return `${this.origin}${filePath}`;
  }

  get pageUrl(): string {
    return `${this.origin}/`;
  }

  get file(): SiteFile | null {
    return this.fileAt(filePath);
  }

  set page(html: string) {
    this.placePage('/', html);
  }

  publish(file: Buffer | string, lastModified: Date): void {
    this.place(filePath, file, lastModified);
  }

  protected override answer(request: IncomingMessage, response: ServerResponse, file: SiteFile | null): void {
    if (this.intercept?.(request, response) || this.#misbehave(request, response, file)) return;
    super.answer(request, response, file);
  }

  misbehave(fault: Fault, sitePath: string = filePath): void {
    this.fault = fault;
    this.#faultyPath = sitePath;
    this.#left = 'times' in fault && fault.times !== undefined ? fault.times : Number.POSITIVE_INFINITY;
  }

  #misbehave(request: IncomingMessage, response: ServerResponse, file: SiteFile | null): boolean {
    this.asked.push(`${request.method} ${request.url}`);
    if (request.url !== this.#faultyPath) return false;
    if (file === null) return this.#misbehaveWithoutFile(response);
    this.requests.push({
      method: request.method ?? '',
      range: request.headers.range ?? null,
      ifRange: String(request.headers['if-range'] ?? '') || null,
    });
    const { fault } = this;
    const isGet = request.method === 'GET';
    if (fault.mode === 'ok' || this.#left <= 0) return false;
    if (fault.mode === 'no_head') return isGet ? false : end(response, 405, '');
    if (fault.mode === 'html') return this.#html(response, file, fault.lastModified === true);
    if (fault.mode === 'redirect') return response.writeHead(302, { location: fault.to }).end() !== null;
    if (fault.mode === 'no_dates') return this.#withoutDates(request, response, file);
    if (fault.mode === 'status') {
      this.#left -= 1;
      return end(response, fault.status, '<h1>no disponible</h1>');
    }
    if (!isGet) return false;
    if (fault.mode === 'no_ranges') {
      delete request.headers.range;
      serveFile(request, response, file);
      return true;
    }
    if (fault.mode === 'declares') {
      response.writeHead(200, { 'content-length': fault.bytes, 'last-modified': file.lastModified.toUTCString() });
      response.write(file.bytes);
      return true;
    }
    if (fault.mode === 'wrong_range') {
      if (request.headers.range === undefined) return false;
      response.writeHead(206, { 'content-range': `bytes 0-9/${file.bytes.length}`, etag: file.etag });
      response.end(file.bytes.subarray(0, 10));
      return true;
    }
    this.#left -= 1;
    this.#cut(request, response, file, fault);
    return true;
  }

  /** Misbehaves at the address of a page or of a missing file. */
  #misbehaveWithoutFile(response: ServerResponse): boolean {
    const { fault } = this;
    if (fault.mode === 'html') return end(response, 200, '<html><body>Servicio en mantenimiento</body></html>');
    if (fault.mode !== 'status' || this.#left <= 0) return false;
    this.#left -= 1;
    return end(response, fault.status, '<h1>no disponible</h1>');
  }

  #cut(
    request: IncomingMessage,
    response: ServerResponse,
    file: SiteFile,
    fault: Extract<Fault, { afterBytes: number }>,
  ): void {
    const from = Number(/^bytes=(\d+)-$/.exec(request.headers.range ?? '')?.[1] ?? 0);
    const part = file.bytes.subarray(from, from + fault.afterBytes);
    response.writeHead(from > 0 ? 206 : 200, {
      etag: file.etag,
      'last-modified': file.lastModified.toUTCString(),
      ...(from > 0 ? { 'content-range': `bytes ${from}-${file.bytes.length - 1}/${file.bytes.length}` } : {}),
      ...(fault.mode === 'truncated' ? {} : { 'content-length': file.bytes.length - from }),
    });
    response.write(part, () => {
      if (fault.mode === 'truncated') response.end();
      else if (fault.mode === 'reset') void this.whenTaken(from + part.length).finally(() => response.destroy());
      this.onCut?.();
    });
  }

  #html(response: ServerResponse, file: SiteFile, withDate: boolean): boolean {
    const headers = withDate ? { 'last-modified': file.lastModified.toUTCString() } : {};
    response.writeHead(200, { 'content-type': 'text/html', ...headers });
    response.end('<html><body>Servicio en mantenimiento</body></html>');
    return true;
  }

  #withoutDates(request: IncomingMessage, response: ServerResponse, file: SiteFile): boolean {
    response.writeHead(200, { 'content-type': 'application/zip', 'content-length': file.bytes.length });
    response.end(request.method === 'HEAD' ? undefined : file.bytes);
    return true;
  }
}

/** The sources of all registers on this site, at the paths of `sitePaths`. The daily one's landing page is the root. */
export function sourcesAt(site: FaultyOfficialSite): Sources {
  const sources = registerNames.map((name) => {
    const { file, page } = sitePaths[name];
    const pageUrl = page === null ? null : `${site.origin}${page}`;
    return [name, { ...registerModules[name].source, url: `${site.origin}${file}`, pageUrl }] as const;
  });
  const all = Object.fromEntries(sources) as unknown as Sources;
  return { ...all, padron_reducido: { ...all.padron_reducido, pageUrl: site.pageUrl } };
}

function end(response: ServerResponse, status: number, body: string): boolean {
  response.writeHead(status, { 'content-type': 'text/html' }).end(body);
  return true;
}
