import { hash } from 'node:crypto';
import { sendCached } from '../answers.ts';
import type { ApiDependencies } from '../dependencies.ts';
import { makeDocument } from '../openapi/document.ts';
import { readExamples } from '../openapi/texts.ts';
import { type ApiRouter, refuseQuery } from '../request.ts';

/** Mounts the API's description for programs. It needs no token and is not counted. api/pages has that for people. */
export function mountDocumentation(router: ApiRouter, { baseUrl }: Pick<ApiDependencies, 'baseUrl'>): void {
  // The document is made from the release's own files, which do not change while the process runs. So it counts as
  // modified when the process started.
  const modifiedAt = new Date();
  let text: string | undefined;
  router.get('/openapi.json', (context) => {
    refuseQuery(context);
    // Made at the first request only, because most processes never get one.
    text ??= JSON.stringify(makeDocument(baseUrl, readExamples()));
    context.set({ 'Content-Language': 'es', 'X-Content-Type-Options': 'nosniff' });
    const tag = hash('sha256', text, 'base64url').slice(0, 22);
    sendCached(context, 'public, max-age=300', { tag, modifiedAt }, 'application/json', text);
  });
}
