import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { sendCached } from '../answers.ts';
import type { ApiDependencies } from '../dependencies.ts';
import { makeDocument } from '../openapi/document.ts';
import { documentationPage, documentationStart } from '../openapi/pages.ts';
import { readExamples } from '../openapi/texts.ts';
import { type ApiContext, type ApiRouter, refuseQuery } from '../request.ts';

const htmlType = 'text/html; charset=utf-8';

/**
 * Mounts the API's description for programs and people, and a page per error code. These paths are public: they need no
 * token and are not counted.
 */
export function mountDocumentation(router: ApiRouter, { baseUrl }: ApiDependencies): void {
  // The pages are made from the release's own files, which do not change while the process runs. So they count as
  // modified when the process started.
  const site = { baseUrl, modifiedAt: new Date() };
  const serve = (path: string, type: string, make: () => string) => router.get(path, makeServe(type, make, site));

  serve('/openapi.json', 'application/json', () => JSON.stringify(makeDocument(baseUrl, readExamples())));
  serve('/docs', htmlType, () => documentationPage);
  serve('/docs/start.js', 'text/javascript', () => documentationStart);
  serve('/docs/swagger-ui.css', 'text/css', () => rendererFile('swagger-ui.css'));
  serve('/docs/swagger-ui-bundle.js', 'text/javascript', () => rendererFile('swagger-ui-bundle.js'));
}

interface Site {
  baseUrl: string;
  modifiedAt: Date;
}

/** The text is made only at the first request, because most processes never get one. It is then kept in memory. */
function makeServe(type: string, make: () => string, site: Site) {
  let text: string | undefined;
  return (context: ApiContext): void => {
    refuseQuery(context);
    text ??= make();
    answerPage(context, type, text, site);
  };
}

function answerPage(context: ApiContext, type: string, text: string, { baseUrl, modifiedAt }: Site): void {
  // A page's links are relative to its address without a slash at the end, so an address with a slash is redirected.
  if (context.path.endsWith('/')) {
    context.status = 308;
    context.redirect(`../${context.path.split('/').at(-2)}`);
    return;
  }
  context.set({
    'Content-Security-Policy': contentPolicy(baseUrl),
    'Content-Language': 'es',
    'X-Content-Type-Options': 'nosniff',
  });
  const tag = hash('sha256', text, 'base64url').slice(0, 22);
  sendCached(context, 'public, max-age=300', { tag, modifiedAt }, type, text);
}

// Makes the Content-Security-Policy of the pages. A page loads files only from its own host. Requests that a reader
// tries out on a page go to `baseUrl`, which may be another host, so that host is allowed too.
function contentPolicy(baseUrl: string): string {
  const api = baseUrl === '' ? '' : ` ${new URL(baseUrl).origin}`;
  return `default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'${api}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`;
}

function rendererFile(name: string): string {
  return readFileSync(createRequire(import.meta.url).resolve(`swagger-ui-dist/${name}`), 'utf8');
}
