import { isIP, type LookupFunction } from 'node:net';
import { createSecureContext, rootCertificates } from 'node:tls';
import { Agent, buildConnector, type Dispatcher } from 'undici';
import { EgressRefused } from './failure.ts';
import {
  type EgressLimits,
  type EgressPolicy,
  isAddressAllowed,
  isPortAllowed,
  type ResolveName,
  resolverFor,
} from './policy.ts';

/**
 * Makes an undici dispatcher that checks every new connection:
 * - the protocol and the port;
 * - the IP address, if the URL has one instead of a name (Node looks up only names);
 * - every address that the URL's name has now, and the address that the socket is connected to.
 * A reused socket is not checked again, because its address cannot change. The dispatcher follows no redirects. It
 * verifies TLS certificates and uses no proxy, whatever environment variables say.
 */
export function makeEgressDispatcher(
  policy: EgressPolicy,
  limits: EgressLimits,
  resolve: ResolveName = resolverFor(policy),
): Dispatcher {
  return new Agent({
    connect: guardedConnector(policy, limits, resolve),
    connections: limits.connectionsPerOrigin,
    pipelining: 1,
    allowH2: false,
    headersTimeout: limits.headersTimeoutMs,
    bodyTimeout: limits.bodyIdleTimeoutMs,
    keepAliveTimeout: limits.keepAliveMs,
    keepAliveMaxTimeout: limits.keepAliveMs,
    maxHeaderSize: 16_384,
  });
}

function guardedConnector(
  policy: EgressPolicy,
  limits: Pick<EgressLimits, 'connectTimeoutMs'>,
  resolve: ResolveName,
): buildConnector.connector {
  const connect = buildConnector({
    timeout: limits.connectTimeoutMs,
    lookup: guardedLookup(policy, resolve),
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: 250,
    rejectUnauthorized: true,
    // The context is made once, because reading some 150 certificate authorities takes longer than a handshake.
    secureContext: createSecureContext({
      minVersion: 'TLSv1.2',
      ...(policy.extraCaPem === undefined ? {} : { ca: [...rootCertificates, policy.extraCaPem] }),
    }),
  });
  return (options, callback) => {
    const host = options.hostname.replace(/^\[(.*)\]$/, '$1');
    const port = Number(options.port || (options.protocol === 'https:' ? 443 : 80));
    const refused = refusal(options.protocol, host, port, policy);
    if (refused !== null) return void process.nextTick(callback, refused, null);
    return connect({ ...options, hostname: host }, (error, socket) => {
      if (error !== null) return callback(error, null);
      // The address that the socket is connected to is checked too, before a byte of the request is written.
      if (socket.remoteAddress === undefined || !isAddressAllowed(socket.remoteAddress, policy)) {
        socket.destroy();
        return callback(new EgressRefused('address_not_allowed'), null);
      }
      return callback(null, socket);
    });
  };
}

function refusal(protocol: string, host: string, port: number, policy: EgressPolicy): EgressRefused | null {
  if (protocol !== 'https:' && policy.allowHttp !== true) return new EgressRefused('scheme');
  if (!isPortAllowed(port, policy)) return new EgressRefused('port');
  if (isIP(host) !== 0 && !isAddressAllowed(host, policy)) return new EgressRefused('address_not_allowed');
  return null;
}

/** Makes the look-up that node:net calls for a name. node:net asks for one address, or for all if it tries several. */
export function guardedLookup(policy: EgressPolicy, resolve: ResolveName): LookupFunction {
  return (host, options, callback) => {
    resolve(host.replace(/\.$/, '')).then(
      (found) => {
        const addresses = found
          .map((address) => ({ address, family: isIP(address) }))
          .filter(({ family }) => !options.family || family === Number(String(options.family).replace('IPv', '')));
        if (addresses.length === 0) return callback(new EgressRefused('name_not_resolved'), '', 4);
        // A name with one forbidden address is refused, because the connection might use that address.
        if (!found.every((address) => isAddressAllowed(address, policy))) {
          return callback(new EgressRefused('address_not_allowed'), '', 4);
        }
        if (options.all) return callback(null, addresses);
        return callback(null, addresses[0]!.address, addresses[0]!.family);
      },
      () => callback(new EgressRefused('name_not_resolved'), '', 4),
    );
  };
}
