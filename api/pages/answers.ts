import { hash } from 'node:crypto';
import { brotliCompressSync, gzipSync, constants as zlib } from 'node:zlib';
import { isCurrent, wholeSecondFrom } from '../conditional.ts';
import type { ApiContext } from '../request.ts';
import type { Download } from './page.ts';

// How pages and their files are sent: headers for the browser, compression, caching.

/** A page loads files and sends forms only from and to this server, runs no inline code, and stands in no frame. */
export const contentPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "form-action 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
].join('; ');

/** Headers of every page, also of those about errors. */
const pageHeaders = {
  'Content-Security-Policy': contentPolicy,
  'Content-Language': 'es',
  'X-Content-Type-Options': 'nosniff',
  // Without a referrer browsers send forms with `Origin: null`. Other sites must not see addresses of the console.
  'Referrer-Policy': 'same-origin',
  'Cross-Origin-Opener-Policy': 'same-origin',
} as const;

const htmlType = 'text/html; charset=utf-8';

/** Sends a page that nobody may keep. */
export function sendPage(context: ApiContext, status: number, html: string): void {
  context.set({ ...pageHeaders, 'Cache-Control': 'no-store' });
  context.status = status;
  sendCompressed(context, htmlType, compress(html, true));
}

/** Sends a file that the browser saves and nobody else may keep. */
export function sendDownload(context: ApiContext, { fileName, type, text }: Download): void {
  context.set({
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
    'Content-Disposition': `attachment; filename="${fileName}"`,
  });
  context.status = 200;
  sendCompressed(context, `${type}; charset=utf-8`, compress(text, true));
}

/** A text in the forms in which it may be sent, with its ETag. */
export interface FixedText {
  etag: string;
  bodies: Bodies;
}

interface Bodies {
  identity: Buffer;
  gzip?: Buffer;
  br?: Buffer;
}

/** Prepares a text that is sent many times. It takes some milliseconds, and less room and time at each answer. */
export function fixedText(text: string): FixedText {
  return { etag: `W/"${hash('sha256', text, 'base64url').slice(0, 22)}"`, bodies: compress(text, false) };
}

/** Sends a page that is the same for everybody until the process ends. */
export function sendFixedPage(context: ApiContext, text: FixedText, modifiedAt: Date): void {
  context.set(pageHeaders);
  sendFixed(context, text, { type: htmlType, cacheControl: 'public, max-age=300', modifiedAt });
}

interface FixedHeaders {
  type: string;
  cacheControl: string;
  modifiedAt: Date;
}

/** Sends the text, or 304 when the client has it. */
export function sendFixed(context: ApiContext, text: FixedText, headers: FixedHeaders): void {
  const modifiedMs = wholeSecondFrom(headers.modifiedAt);
  context.set({
    'Cache-Control': headers.cacheControl,
    'X-Content-Type-Options': 'nosniff',
    ETag: text.etag,
    // Last-Modified must not be later than the answer's Date (RFC 9110, section 8.8.2.1).
    'Last-Modified': new Date(Math.min(modifiedMs, Date.now())).toUTCString(),
  });
  if (isCurrent(context.req.headers, text.etag, modifiedMs)) {
    context.set('Vary', 'Accept-Encoding');
    context.status = 304;
    return;
  }
  context.status = 200;
  sendCompressed(context, headers.type, text.bodies);
}

/** Texts below this size fit into one network packet anyway. */
const minCompressedBytes = 1_024;

function compress(text: string, isForOneAnswer: boolean): Bodies {
  const identity = Buffer.from(text);
  if (identity.length < minCompressedBytes) return { identity };
  // gzip at its fastest level takes a fraction of a millisecond for a page.
  if (isForOneAnswer) return { identity, gzip: gzipSync(identity, { level: 1 }) };
  const br = brotliCompressSync(identity, { params: { [zlib.BROTLI_PARAM_QUALITY]: 9 } });
  return { identity, gzip: gzipSync(identity), br };
}

function sendCompressed(context: ApiContext, type: string, bodies: Bodies): void {
  context.vary('Accept-Encoding');
  const offered = (['br', 'gzip'] as const).filter((name) => bodies[name] !== undefined);
  const chosen = context.acceptsEncodings(...offered, 'identity');
  const encoding = offered.find((name) => name === chosen);
  context.type = type;
  if (encoding !== undefined) context.set('Content-Encoding', encoding);
  context.body = encoding === undefined ? bodies.identity : bodies[encoding];
}
