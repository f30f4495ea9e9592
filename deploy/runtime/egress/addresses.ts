import ipaddr from 'ipaddr.js';

/**
 * Which addresses a request may be sent to. Not a list of what is bad, which is never complete, but of what is good:
 * IPv4 outside every special range, and IPv6 inside 2000::/3 outside every special range. An IPv6 address that carries an
 * IPv4 one is judged by that one where it is a known embedding (mapped, NAT64's well-known prefix), else refused.
 */
export type AddressKind = 'public' | 'private' | 'forbidden';

/** Private kinds are admitted only where the policy says so; forbidden ones (metadata, multicast, tunnels) never are. */
function addressKind(text: string): AddressKind {
  // A zone id (fe80::1%eth0) is only ever link-local.
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
  // 64:ff9b::/96: on a network with IPv6 only, every IPv4 host answers under it. The local NAT64 prefix is refused below.
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

/** fd00:ec2::254, AWS's metadata service on IPv6; its IPv4 twin is link-local and forbidden as such. */
function isAwsMetadata(parts: readonly number[]): boolean {
  return parts[0] === 0xfd00 && parts[1] === 0xec2;
}
