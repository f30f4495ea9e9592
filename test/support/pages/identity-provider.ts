import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Provider } from 'oidc-provider';
import type { IdentityProviderSettings } from '../../../api/operators/config.ts';

/** A certified provider of OpenID Connect on this machine, and people who sign in there. */
export interface TestProvider {
  settings: IdentityProviderSettings;
  /** Groups by login. Everybody can sign in, with any password. */
  groups: Map<string, readonly string[]>;
  /** Lets a console use it, which must be known before. */
  open(consoleUrl: string): void;
  /**
   * Signs in and agrees to everything.
   * @returns path and query of the console's address to which the provider sends the browser back
   */
  signIn(address: URL, login: string): Promise<string>;
  stop(): Promise<void>;
}

const clientId = 'padron-operadores';
const clientSecret = randomBytes(24).toString('hex');

/** @param where the groups are: in the ID token, or only at the address for facts about a user */
export async function startProvider(where: 'id_token' | 'userinfo'): Promise<TestProvider> {
  let listener: RequestListener = (_, response) => response.writeHead(503).end();
  const server = createServer((request, response) => listener(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const groups = new Map<string, readonly string[]>();
  return {
    settings: {
      ...{ issuer, clientId, clientSecret, groupsClaim: 'groups', prompt: 'login' },
      scope: 'openid email groups',
      ...{ deciderGroup: 'padron-deciden', viewerGroup: 'padron-miran' },
    },
    groups,
    open(consoleUrl) {
      const provider = new Provider(issuer, {
        clients: [
          {
            ...{ client_id: clientId, client_secret: clientSecret, token_endpoint_auth_method: 'client_secret_post' },
            redirect_uris: [`${consoleUrl}/proveedor/vuelta`],
          },
        ],
        claims: { openid: ['sub'], email: ['email', 'email_verified'], groups: ['groups'] },
        conformIdTokenClaims: where === 'userinfo',
        cookies: { keys: [randomBytes(16).toString('hex')] },
        jwks: { keys: [generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({ format: 'jwk' })] },
        findAccount: (_, id) => ({
          accountId: id,
          claims: async () => ({
            ...{ sub: id, email: `${id}@example.pe`, email_verified: true },
            groups: [...(groups.get(id) ?? [])],
          }),
        }),
      });
      listener = provider.callback();
    },
    signIn: (address, login) => walk(address, login),
    async stop() {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

/** Follows the provider's pages as a person does, until they lead back to the console. */
async function walk(address: URL, login: string): Promise<string> {
  const cookies = new Map<string, string>();
  let next = address;
  let body: URLSearchParams | null = null;
  for (let step = 0; step < 20; step += 1) {
    const response: Response = await fetch(next, {
      redirect: 'manual',
      headers: { cookie: [...cookies].map((pair) => pair.join('=')).join('; ') },
      ...(body && { method: 'POST', body }),
    });
    for (const line of response.headers.getSetCookie()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(line)!;
      cookies.set(name!, value!);
    }
    const location = response.headers.get('location');
    if (location !== null) {
      next = new URL(location, next);
      if (next.origin !== address.origin) return `${next.pathname}${next.search}`;
      body = null;
      continue;
    }
    const page = await response.text();
    const form = /<form[^>]* action="([^"]+)"/.exec(page);
    if (form === null) throw new Error(`the provider shows no form: ${response.status} ${page.slice(0, 300)}`);
    next = new URL(form[1]!, next);
    body = new URLSearchParams({ prompt: /value="(\w+)"/.exec(page)![1]!, login, password: 'x' });
  }
  throw new Error('the provider never led back');
}
