import { promises as dns, Resolver } from 'node:dns';
import { promisify } from 'node:util';
import ipaddr from 'ipaddr.js';

/** Where outbound HTTP may go. Each process makes one from its configuration and passes it down. */
export interface EgressPolicy {
  /** Allows loopback and private addresses, any port and local names. Only tests and the demo set it. */
  allowPrivateTargets: boolean;
  /** PEM text of certificate authorities to trust besides the usual ones. */
  extraCaPem?: string;
  /** Ports allowed while private targets are not. Left out: 443 and 8443, and 80 where http is allowed. */
  allowedPorts?: readonly number[];
  /** Our own public base URLs. A target there would be a delivery loop. */
  ownBaseUrls?: readonly string[];
  /** Allows http: besides https:, for downloads of publications and never for webhooks. */
  allowHttp?: boolean;
}

export interface EgressLimits {
  /** DNS, TCP and TLS together. */
  connectTimeoutMs: number;
  /** From the written request to the end of the answer's headers. */
  headersTimeoutMs: number;
  /** Between two pieces of the answer's body. */
  bodyIdleTimeoutMs: number;
  /** Sockets to one host at the same time. */
  connectionsPerOrigin: number;
  /** How long an unused socket is kept for the next request to the same host. */
  keepAliveMs: number;
}

const defaultWebhookPorts: readonly number[] = [443, 8443];

/** Why a target is refused. The customer sees this class and never which address or port it was. */
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

/** Private addresses are allowed only where the policy says so; forbidden ones (metadata, multicast, tunnels) never are. */
type AddressKind = 'public' | 'private' | 'forbidden';

/**
 * Which kind of address a text is. A list of bad addresses is never complete, so this lists the good ones: IPv4 outside every
 * special range, and IPv6 inside 2000::/3 outside every special range. An IPv6 address that carries an IPv4 one by a known
 * embedding (mapped, NAT64's well-known prefix) is judged by that one; by any other embedding it is forbidden.
 */
function addressKind(text: string): AddressKind {
  // Only link-local addresses have a zone id (fe80::1%eth0).
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
  // On a network with IPv6 only, every IPv4 host answers under 64:ff9b::/96. The local NAT64 prefix is refused below.
  if (parts[0] === 0x64 && parts[1] === 0xff9b && parts.slice(2, 6).every((part) => part === 0)) {
    return kindOfIpv4(embeddedIpv4(parts)) === 'public' ? 'public' : 'forbidden';
  }
  const range: string = address.range();
  if (range === 'loopback' || range === 'uniqueLocal') return isAwsMetadata(parts) ? 'forbidden' : 'private';
  if (range !== 'unicast') return 'forbidden';
  // ISATAP interface identifiers carry an IPv4 address inside any prefix.
  if ((parts[4] === 0 || parts[4] === 0x200) && parts[5] === 0x5efe) return 'forbidden';
  return (parts[0]! & 0xe000) === 0x2000 ? 'public' : 'forbidden';
}

function embeddedIpv4(parts: readonly number[]): ipaddr.IPv4 {
  const [high, low] = [parts[6]!, parts[7]!];
  return new ipaddr.IPv4([high >> 8, high & 255, low >> 8, low & 255]);
}

/** fd00:ec2::254 is AWS's metadata service on IPv6. Its IPv4 address is link-local and so forbidden anyway. */
function isAwsMetadata(parts: readonly number[]): boolean {
  return parts[0] === 0xfd00 && parts[1] === 0xec2;
}

/** Resolves all addresses of a name, IPv4 and IPv6. Rejects or returns none when it does not exist. */
export type ResolveName = (host: string) => Promise<readonly string[]>;

/**
 * Asks the name servers directly. getaddrinfo runs on four threads that it shares with all file work, so four names whose
 * servers do not answer would stop every delivery. It also reads the hosts file and search domains, which no public target
 * needs.
 */
function makePublicResolver(): ResolveName {
  const resolver = new Resolver({ timeout: 2_000, tries: 2 });
  const resolve4 = promisify(resolver.resolve4.bind(resolver)) as (host: string) => Promise<string[]>;
  const resolve6 = promisify(resolver.resolve6.bind(resolver)) as (host: string) => Promise<string[]>;
  return async (host) => {
    // A name with addresses of one family answers "no data" for the other.
    const answers = await Promise.allSettled([resolve4(host), resolve6(host)]);
    return answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
  };
}

/** Asks the system (hosts file, search domains), for development, where targets are localhost or private names. */
const resolveBySystem: ResolveName = async (host) => {
  const found = await dns.lookup(host, { all: true, verbatim: true });
  return found.map((entry) => entry.address);
};

export function resolverFor(policy: { allowPrivateTargets: boolean }): ResolveName {
  return policy.allowPrivateTargets ? resolveBySystem : makePublicResolver();
}
