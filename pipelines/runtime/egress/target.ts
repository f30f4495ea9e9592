import { isIP } from 'node:net';
import { type EgressPolicy, isAddressAllowed, isPortAllowed, type ResolveName, type TargetProblem } from './policy.ts';

const maxUrlLength = 2_048;

export type TargetCheck = { ok: true; url: URL } | { ok: false; problem: TargetProblem };
export type TargetResolution = { ok: true; addresses: readonly string[] } | { ok: false; problem: TargetProblem };

/**
 * Checks the text of a target's URL without the network. A webhook's URL is checked when the webhook is created or
 * updated, and at each attempt. The checks: scheme, form, user name, port, local names, our own host, and addresses in
 * every spelling that Node's URL accepts.
 */
export function checkTargetUrl(text: string, policy: EgressPolicy): TargetCheck {
  // Refuse a text that Node's URL would repair, because such a text is not what it seems. Node's URL drops tabs and
  // line breaks, reads backslashes as slashes and adds missing slashes.
  if (text.length > maxUrlLength || /[\s\\\p{Cc}]/u.test(text) || !URL.canParse(text)) {
    return { ok: false, problem: 'malformed' };
  }
  const url = new URL(text);
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && policy.allowHttp === true)) {
    return { ok: false, problem: 'scheme' };
  }
  if (!/^https?:\/\/[^/]/i.test(text)) return { ok: false, problem: 'malformed' };
  const authority = text.slice(text.indexOf('//') + 2).split(/[/?#]/, 1)[0]!;
  if (authority.includes('@')) return { ok: false, problem: 'userinfo' };
  if (!isPortAllowed(portOf(url), policy)) return { ok: false, problem: 'port' };
  const problem = hostProblem(url, policy);
  return problem === null ? { ok: true, url } : { ok: false, problem };
}

/** Resolves the target's name as a connection would. If one of its addresses is forbidden, the target is refused. */
export async function resolveTarget(url: URL, policy: EgressPolicy, resolve: ResolveName): Promise<TargetResolution> {
  const host = hostOf(url);
  const addresses = isIP(host) ? [host] : await resolve(host).catch(() => []);
  if (addresses.length === 0) return { ok: false, problem: 'name_not_resolved' };
  return addresses.every((address) => isAddressAllowed(address, policy))
    ? { ok: true, addresses }
    : { ok: false, problem: 'address_not_allowed' };
}

/** The host in lower case, without the brackets of an IPv6 address and without a trailing dot. */
function hostOf(url: URL): string {
  return url.hostname.replace(/^\[(.*)\]$/, '$1').replace(/\.$/, '');
}

function portOf(url: URL): number {
  if (url.port !== '') return Number(url.port);
  return url.protocol === 'http:' ? 80 : 443;
}

function hostProblem(url: URL, policy: EgressPolicy): TargetProblem | null {
  const host = hostOf(url);
  if (host === '') return 'malformed';
  if (isIP(host)) {
    if (!isAddressAllowed(host, policy)) return 'address_not_allowed';
  } else if (!policy.allowPrivateTargets && isLocalName(host)) return 'address_not_allowed';
  return isOwnHost(url, policy) ? 'own_host' : null;
}

/** Whether a name cannot belong to a public host: it has no dot, means this host, or is in a private zone. */
function isLocalName(host: string): boolean {
  if (!host.includes('.')) return true;
  return /\.(localhost|localdomain|internal|intranet|local|lan|home|corp|private|test|invalid|onion|arpa)$/.test(host);
}

function isOwnHost(url: URL, policy: EgressPolicy): boolean {
  return (policy.ownBaseUrls ?? []).some((base) => {
    const own = new URL(base);
    if (hostOf(own) !== hostOf(url)) return false;
    // With `allowPrivateTargets` (tests and the demo), receivers and our own processes share the loopback address. Only
    // the port then shows whether the target is our own.
    return !policy.allowPrivateTargets || portOf(own) === portOf(url);
  });
}
