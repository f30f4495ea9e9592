import type { ApiMiddleware, ApiRouter } from '../request.ts';

/**
 * A GET without HEAD, which the router adds to every GET: where an answer writes something or never ends, its head alone has no
 * use. HEAD is then refused like any other method.
 */
export function getOnly(router: ApiRouter, path: string, ...middleware: ApiMiddleware[]): void {
  router.get(path, ...middleware);
  router.stack.at(-1)!.methods = ['GET'];
}
