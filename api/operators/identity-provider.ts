import { createHash } from 'node:crypto';
import * as oidc from 'openid-client';
import { isLoopback } from '../request.ts';
import type { IdentityProviderSettings } from './config.ts';
import type { OperatorRole } from './operators.ts';

// Signing in through an identity provider: the code flow of OpenID Connect with PKCE. What must come back from the
// provider is derived from one secret in the browser's cookie, so that nothing is stored, and any process of ours can
// answer when the person comes back.

/** Longest wait for one answer of the provider, in seconds. */
const timeoutSeconds = 5;
/** The provider's addresses are read again after this time. Its keys are read again whenever an unknown one is used. */
const rediscoverMs = 3_600_000;

export interface Identity {
  /** The provider's address and its lasting id of the person, with a space between them. */
  subject: string;
  name: string;
  role: OperatorRole;
}

/**
 * Why somebody does not get in. `provider_away`: it does not answer, or refuses our settings. `declined`: it, or the
 * person, ended the sign-in. `not_valid`: the answer is not the one to this browser's request. `no_group`: the person
 * is in none of our groups.
 */
type Refusal = 'provider_away' | 'declined' | 'not_valid' | 'no_group';

export class SignInRefused extends Error {
  override name = 'SignInRefused';
  readonly code: Refusal;

  constructor(code: Refusal, message: string) {
    super(message);
    this.code = code;
  }
}

export class IdentityProvider {
  readonly #settings: IdentityProviderSettings;
  #known: { configuration: Promise<oidc.Configuration>; until: number } | null = null;

  constructor(settings: IdentityProviderSettings) {
    this.#settings = settings;
  }

  /** The groups whose members get in, for the sentence to those who do not. */
  get groups(): readonly string[] {
    const { deciderGroup, viewerGroup } = this.#settings;
    return [deciderGroup, viewerGroup].filter((group) => group !== null);
  }

  /**
   * Returns the provider's address where the person signs in.
   * @param secret what the browser's cookie holds
   * @param returnTo our address to which the provider sends the browser back. The provider must know it.
   * @throws SignInRefused provider_away
   */
  async address(secret: string, returnTo: string): Promise<URL> {
    const configuration = await this.#discover();
    const { scope, prompt } = this.#settings;
    return oidc.buildAuthorizationUrl(configuration, {
      ...{ redirect_uri: returnTo, scope, code_challenge_method: 'S256' },
      code_challenge: await oidc.calculatePKCECodeChallenge(derived(secret, 'verifier')),
      ...{ state: derived(secret, 'state'), nonce: derived(secret, 'nonce') },
      ...(prompt !== '' && { prompt }),
    });
  }

  /**
   * Takes the code in the address to which the browser came back, and returns who this is.
   * @throws SignInRefused
   */
  async identify(secret: string, cameBackTo: URL): Promise<Identity> {
    const configuration = await this.#discover();
    const checks = {
      pkceCodeVerifier: derived(secret, 'verifier'),
      ...{ expectedState: derived(secret, 'state'), expectedNonce: derived(secret, 'nonce') },
      idTokenExpected: true,
    };
    try {
      const tokens = await oidc.authorizationCodeGrant(configuration, cameBackTo, checks);
      const idToken = tokens.claims()!;
      let claims: Readonly<Record<string, unknown>> = idToken;
      // Many providers keep the ID token small and give the rest here.
      if (!(this.#settings.groupsClaim in claims) && configuration.serverMetadata().userinfo_endpoint !== undefined)
        claims = { ...(await oidc.fetchUserInfo(configuration, tokens.access_token, idToken.sub)), ...idToken };
      return this.#identityIn(idToken.iss, idToken.sub, claims);
    } catch (error) {
      throw refusalOf(error);
    }
  }

  #identityIn(issuer: string, sub: string, claims: Readonly<Record<string, unknown>>): Identity {
    const { groupsClaim, deciderGroup, viewerGroup } = this.#settings;
    const given = claims[groupsClaim];
    const groups = Array.isArray(given) ? given : typeof given === 'string' ? [given] : [];
    const isIn = (group: string | null) => group !== null && groups.includes(group);
    const role = isIn(deciderGroup) ? 'decider' : isIn(viewerGroup) ? 'viewer' : null;
    if (role === null) throw new SignInRefused('no_group', `in none of the groups ${this.groups.join(', ')}`);
    return { subject: `${issuer} ${sub}`, name: nameIn(claims) ?? sub, role };
  }

  /** A discovery that fails is not kept, so that the next person tries again. */
  #discover(): Promise<oidc.Configuration> {
    if (this.#known !== null && Date.now() < this.#known.until) return this.#known.configuration;
    const { issuer, clientId, clientSecret } = this.#settings;
    const url = new URL(issuer);
    // Only a provider on this machine may do without TLS, as the settings' schema says too.
    const isInsecure = url.protocol === 'http:' && isLoopback(url.hostname);
    const authentication = clientSecret === null ? oidc.None() : oidc.ClientSecretPost(clientSecret);
    const execute = [oidc.enableNonRepudiationChecks, ...(isInsecure ? [oidc.allowInsecureRequests] : [])];
    const configuration = oidc
      .discovery(url, clientId, undefined, authentication, { timeout: timeoutSeconds, execute })
      .catch((error: unknown) => {
        this.#known = null;
        throw new SignInRefused('provider_away', `${issuer} was not found to be a provider: ${reasonOf(error)}`);
      });
    this.#known = { configuration, until: Date.now() + rediscoverMs };
    return configuration;
  }
}

/** 43 characters that say nothing about the secret, and that only who has it can know. */
function derived(secret: string, use: 'verifier' | 'state' | 'nonce'): string {
  return createHash('sha256').update(`${use} ${secret}`).digest('base64url');
}

/** A name that one person has. An address counts when the provider has not said that it is unchecked. */
function nameIn(claims: Readonly<Record<string, unknown>>): string | null {
  const names = [claims.email_verified === false ? null : claims.email, claims.preferred_username, claims.name];
  return names.find((name): name is string => typeof name === 'string' && name.trim() !== '') ?? null;
}

function refusalOf(error: unknown): SignInRefused {
  if (error instanceof SignInRefused) return error;
  if (error instanceof oidc.AuthorizationResponseError) return new SignInRefused('declined', error.error);
  const isAway = !(error instanceof oidc.ClientError || error instanceof oidc.ResponseBodyError) || hasNoAnswer(error);
  return new SignInRefused(isAway ? 'provider_away' : 'not_valid', reasonOf(error));
}

function hasNoAnswer(error: Error & { code?: string; status?: number; cause?: unknown }): boolean {
  const answered = error.cause instanceof Response ? error.cause.status : error.status;
  return error.code === 'OAUTH_TIMEOUT' || error.cause instanceof TypeError || (answered ?? 0) >= 500;
}

/** A code and the library's own words. The provider's answer, which may hold tokens, is in neither. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return 'no reason';
  const { code } = error as NodeJS.ErrnoException;
  const cause = error.cause instanceof Error ? (error.cause as NodeJS.ErrnoException).code : undefined;
  return [code, cause, error.message].filter((part) => part !== undefined).join(' ');
}
