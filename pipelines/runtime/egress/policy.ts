import { promises as dns, Resolver } from 'node:dns';
import { promisify } from 'node:util';
import ipaddr from 'ipaddr.js';

export interface EgressPolicy {
  /** Allows loopback and private addresses, any port and local names. Only tests and the demo set it. */
  allowPrivateTargets: boolean;
  /** PEM text of certificate authorities to trust besides the usual ones. */
  extraCaPem?: string;
  /** Allowed ports, by default 443 and 8443. `allowHttp` adds port 80; `allowPrivateTargets` allows every port. */
  allowedPorts?: readonly number[];
  /** Our own public base URLs. A target at one of their hosts is refused, because it would make a delivery loop. */
  ownBaseUrls?: readonly string[];
  /** Allows http: as well as https:. It is set for downloads of publications and never for webhooks. */
  allowHttp?: boolean;
}

export interface EgressLimits {
  /** Limit of the time for DNS, TCP and TLS together. */
  connectTimeoutMs: number;
  /** Limit of the time from the written request to the end of the answer's headers. */
  headersTimeoutMs: number;
  bodyIdleTimeoutMs: number;
  connectionsPerOrigin: number;
  keepAliveMs: number;
}

const defaultWebhookPorts: readonly number[] = [443, 8443];

/** Why a target is refused. The customer sees this class, but never which address or port caused it. */
export type TargetProblem =
  | 'malformed'
  | 'scheme'
  | 'userinfo'
  | 'port'
  | 'own_host'
  | 'address_not_allowed'
  | 'name_not_resolved';

export function isPortAllowed(port: number, policy: EgressPolicy): boolean {
  if (port < 1 || port > 65_535) return false;
  if (policy.allowPrivateTargets) return true;
  if (policy.allowHttp === true && port === 80) return true;
  return (policy.allowedPorts ?? defaultWebhookPorts).includes(port);
}

/**
 * Private addresses need `allowPrivateTargets`. Forbidden addresses are never allowed, for example a cloud's metadata
 * service, multicast and tunnels.
 */
type AddressKind = 'public' | 'private' | 'forbidden';

/**
 * Returns the kind of an address. A list of bad addresses is never complete, so the code lists the good ones:
 * - IPv4 outside every special range.
 * - IPv6 inside 2000::/3 and outside every special range.
 * - An IPv4-mapped address has the kind of the IPv4 address in it.
 * - With NAT64's well-known prefix, an address is public if the IPv4 address in it is public, else forbidden.
 * All other IPv6 addresses that carry an IPv4 address are forbidden.
 */
function addressKind(text: string): AddressKind {
  // Only link-local addresses have a zone id (fe80::1%eth0), and they are forbidden.
  if (text.includes('%') || !ipaddr.isValid(text)) return 'forbidden';
  const address = ipaddr.parse(text);
  return address.kind() === 'ipv4' ? kindOfIpv4(address as ipaddr.IPv4) : kindOfIpv6(address as ipaddr.IPv6);
}

export function isAddressAllowed(text: string, policy: { allowPrivateTargets: boolean }): boolean {
  const kind = addressKind(text);
  return kind === 'public' || (kind === 'private' && policy.allowPrivateTargets);
}

function kindOfIpv4(address: ipaddr.IPv4): AddressKind {
  const range = address.range();
  if (range === 'unicast') return 'public';
  return range === 'loopback' || range === 'private' ? 'private' : 'forbidden';
}

function kindOfIpv6(address: ipaddr.IPv6): AddressKind {
  if (address.isIPv4MappedAddress()) return kindOfIpv4(address.toIPv4Address());
  const parts = address.parts;
  // On an IPv6-only network, NAT64's well-known prefix 64:ff9b::/96 leads to the IPv4 host whose address follows the
  // prefix. NAT64's prefix for local use, 64:ff9b:1::/48, is refused below, because its range is not `unicast`.
  if (parts[0] === 0x64 && parts[1] === 0xff9b && parts.slice(2, 6).every((part) => part === 0)) {
    return kindOfIpv4(embeddedIpv4(parts)) === 'public' ? 'public' : 'forbidden';
  }
  const range: string = address.range();
  if (range === 'loopback' || range === 'uniqueLocal') return isAwsMetadata(parts) ? 'forbidden' : 'private';
  if (range !== 'unicast') return 'forbidden';
  // An ISATAP interface identifier embeds an IPv4 address and can follow any prefix. So an address that looks public
  // could lead to a private IPv4 host.
  if ((parts[4] === 0 || parts[4] === 0x200) && parts[5] === 0x5efe) return 'forbidden';
  return (parts[0]! & 0xe000) === 0x2000 ? 'public' : 'forbidden';
}

function embeddedIpv4(parts: readonly number[]): ipaddr.IPv4 {
  const [high, low] = [parts[6]!, parts[7]!];
  return new ipaddr.IPv4([high >> 8, high & 255, low >> 8, low & 255]);
}

/** fd00:ec2::254 is AWS's metadata service on IPv6. On IPv4 its address is link-local, which is forbidden anyway. */
function isAwsMetadata(parts: readonly number[]): boolean {
  return parts[0] === 0xfd00 && parts[1] === 0xec2;
}

/** Resolves with all IPv4 and IPv6 addresses of a name. Rejects or resolves with none when the name does not exist. */
export type ResolveName = (host: string) => Promise<readonly string[]>;

/**
 * Makes a resolver that asks the name servers directly. The system's getaddrinfo is not used for two reasons:
 * - It runs on four threads that it shares with all file work. Four names without an answer would stop every delivery.
 * - It reads the hosts file and search domains, which no public target needs.
 */
function makePublicResolver(): ResolveName {
  const resolver = new Resolver({ timeout: 2_000, tries: 2 });
  const resolve4 = promisify(resolver.resolve4.bind(resolver)) as (host: string) => Promise<string[]>;
  const resolve6 = promisify(resolver.resolve6.bind(resolver)) as (host: string) => Promise<string[]>;
  return async (host) => {
    // For a name that has only IPv4 or only IPv6 addresses, the other query fails with "no data". So a failed query
    // counts as a query without addresses.
    const answers = await Promise.allSettled([resolve4(host), resolve6(host)]);
    return answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
  };
}

/** Asks the system, which knows the hosts file and search domains. Development uses localhost and private names. */
const resolveBySystem: ResolveName = async (host) => {
  const found = await dns.lookup(host, { all: true, verbatim: true });
  return found.map((entry) => entry.address);
};

export function resolverFor(policy: { allowPrivateTargets: boolean }): ResolveName {
  return policy.allowPrivateTargets ? resolveBySystem : makePublicResolver();
}
