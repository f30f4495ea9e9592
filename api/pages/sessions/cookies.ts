import { type ApiContext, isLoopback } from '../../request.ts';

/** What decides how people reach this process. */
export interface Site {
  /** The public address without a slash at its end, or empty. */
  baseUrl: string;
  proxyHops: number;
}

/** Returns scheme and host under which this request reached us, as a browser names them. */
export function originOf({ protocol, host }: Pick<ApiContext, 'protocol' | 'host'>, { baseUrl }: Site): string {
  return baseUrl === '' ? `${protocol}://${host}` : new URL(baseUrl).origin;
}

/** The path under which a proxy serves us: empty, or for example `/padron`. */
export function prefixOf({ baseUrl }: Site): string {
  return baseUrl === '' ? '' : new URL(baseUrl).pathname.replace(/\/$/, '');
}

/**
 * Whether browser and service are on one machine, where there is no TLS. Browsers accept no `__Host-` cookie there. A
 * proxy on this machine must not look like that, so nothing that it adds may be there.
 */
function isLocal(context: ApiContext, { baseUrl, proxyHops }: Site): boolean {
  const isForwarded = ['forwarded', 'x-forwarded-for', 'x-forwarded-proto', 'via'].some(
    (name) => context.req.headers[name] !== undefined,
  );
  if (proxyHops > 0 || isForwarded || !isLoopback(context.req.socket.remoteAddress ?? '')) return false;
  return isLoopback(new URL(originOf(context, { baseUrl, proxyHops })).hostname);
}

const names = {
  /** Who is signed in. */
  session: 'padron_consola',
  /** Who fills in a form without being signed in. It says nothing about that person. */
  visitor: 'padron_visita',
  // A browser does not keep the cookies of two ports of one host apart, so the operators' console has names of its own.
  operator: 'padron_operador',
  operatorVisitor: 'padron_operador_visita',
  /** Who is on the way to the identity provider and back. */
  operatorSignIn: 'padron_operador_entrada',
} as const;
export type CookieName = keyof typeof names;

function nameOf(context: ApiContext, cookie: CookieName, site: Site): string {
  // Browsers let neither another host nor a page without TLS set a cookie of this prefix.
  return isLocal(context, site) ? names[cookie] : `__Host-${names[cookie]}`;
}

/** Returns a secret that we made (43 letters, 32 bytes), or null. */
export function readCookie(context: ApiContext, cookie: CookieName, site: Site): string | null {
  const text = context.cookies.get(nameOf(context, cookie, site)) ?? '';
  return /^[A-Za-z0-9_-]{43}$/.test(text) ? text : null;
}

/** @param secret null removes the cookie. Without a limit of time the browser forgets it when it is closed. */
export function writeCookie(context: ApiContext, cookie: CookieName, secret: string | null, site: Site): void {
  const parts = [`${nameOf(context, cookie, site)}=${secret ?? ''}`, 'Path=/', 'HttpOnly', 'SameSite=Lax'];
  if (!isLocal(context, site)) parts.push('Secure');
  if (secret === null) parts.push('Max-Age=0');
  context.append('Set-Cookie', parts.join('; '));
}
