import { promises as dns, Resolver } from 'node:dns';
import { promisify } from 'node:util';

/** All addresses of a name, IPv4 and IPv6; rejects or gives none when it does not exist. */
export type ResolveName = (host: string) => Promise<readonly string[]>;

/**
 * Asks the name servers directly. Not getaddrinfo: that runs on four threads shared with all file work, so four names with
 * silent name servers would stop every delivery; and it follows the hosts file and search domains, which no public
 * target needs.
 */
function makePublicResolver(): ResolveName {
  const resolver = new Resolver({ timeout: 2_000, tries: 2 });
  const resolve4 = promisify(resolver.resolve4.bind(resolver)) as (host: string) => Promise<string[]>;
  const resolve6 = promisify(resolver.resolve6.bind(resolver)) as (host: string) => Promise<string[]>;
  return async (host) => {
    // A name with one family only answers "no data" for the other; only when both fail is there nothing to connect to.
    const answers = await Promise.allSettled([resolve4(host), resolve6(host)]);
    return answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
  };
}

/** The system's way (hosts file, search domains): for development, where targets are localhost or names of a private network. */
const resolveBySystem: ResolveName = async (host) => {
  const found = await dns.lookup(host, { all: true, verbatim: true });
  return found.map((entry) => entry.address);
};

export function resolverFor(policy: { allowPrivateTargets: boolean }): ResolveName {
  return policy.allowPrivateTargets ? resolveBySystem : makePublicResolver();
}
