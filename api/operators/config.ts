import { z } from 'zod';
import { ConfigurationError, wholeNumber } from '../../pipelines/runtime/config.ts';
import { isLoopback } from '../request.ts';

/** Settings of the operators' console. The api serves it, and `padron operators link` shows its address. */
export const operatorBlock = z.object({
  /** Port of the console, which is a listener of its own. Without it there is no console. 0 means any free port. */
  OPERATOR_HTTP_PORT: wholeNumber(0, 65_535).optional(),
  OPERATOR_HTTP_HOST: z.string().default('127.0.0.1'),
  /**
   * Where operators reach the console, if a proxy of ours stands before it (as many as TRUSTED_PROXY_HOPS). Without it
   * they reach the port itself.
   */
  OPERATOR_BASE_URL: z
    .url({ protocol: /^https?$/ })
    .transform((url) => url.replace(/\/+$/, ''))
    .optional(),
});

/** Settings of signing in through an identity provider (OpenID Connect). The api alone reads them. */
export const identityProviderBlock = z.object({
  /** Address of the provider, without /.well-known. Without it operators come in by one-time links only. */
  OIDC_ISSUER_URL: z
    .url({ protocol: /^https?$/ })
    .refine((url) => new URL(url).protocol === 'https:' || isLoopback(new URL(url).hostname), 'must be https')
    .optional(),
  OIDC_CLIENT_ID: z.string().min(1).optional(),
  /** Without it this is a public client, which PKCE alone protects. */
  OIDC_CLIENT_SECRET: z.string().min(1).optional(),
  OIDC_SCOPE: z.string().default('openid profile email'),
  /** The claim that lists a person's groups, in the ID token or at the provider's address for facts about a user. */
  OIDC_GROUPS_CLAIM: z.string().min(1).default('groups'),
  /** Members of this group decide. */
  OIDC_DECIDER_GROUP: z.string().min(1).optional(),
  /** Members of this group look. */
  OIDC_VIEWER_GROUP: z.string().min(1).optional(),
  /** What the provider is asked to do although it knows the person: `login` asks for the password. Empty: nothing. */
  OIDC_PROMPT: z.string().default('login'),
});

export interface IdentityProviderSettings {
  issuer: string;
  clientId: string;
  clientSecret: string | null;
  scope: string;
  groupsClaim: string;
  deciderGroup: string | null;
  viewerGroup: string | null;
  prompt: string;
}

/** Returns null without an identity provider. @throws Error when a setting is missing */
export function identityProviderOf(config: z.output<typeof identityProviderBlock>): IdentityProviderSettings | null {
  const { OIDC_ISSUER_URL: issuer, OIDC_CLIENT_ID: clientId } = config;
  if (issuer === undefined) return null;
  if (clientId === undefined) throw new ConfigurationError('OIDC_ISSUER_URL needs OIDC_CLIENT_ID');
  const { OIDC_DECIDER_GROUP: deciderGroup = null, OIDC_VIEWER_GROUP: viewerGroup = null } = config;
  if (deciderGroup === null && viewerGroup === null)
    throw new ConfigurationError('OIDC_ISSUER_URL needs OIDC_DECIDER_GROUP or OIDC_VIEWER_GROUP, or nobody gets in');
  return {
    ...{ issuer, clientId, deciderGroup, viewerGroup },
    clientSecret: config.OIDC_CLIENT_SECRET ?? null,
    scope: config.OIDC_SCOPE,
    groupsClaim: config.OIDC_GROUPS_CLAIM,
    prompt: config.OIDC_PROMPT,
  };
}

type OperatorConfiguration = z.output<typeof operatorBlock>;

/** Returns the console's address without a slash at its end, or null when the settings do not say it. */
export function operatorAddress(config: OperatorConfiguration): string | null {
  const { OPERATOR_BASE_URL, OPERATOR_HTTP_HOST, OPERATOR_HTTP_PORT } = config;
  if (OPERATOR_BASE_URL !== undefined) return OPERATOR_BASE_URL;
  if (!OPERATOR_HTTP_PORT) return null;
  const isEverywhere = ['0.0.0.0', '::'].includes(OPERATOR_HTTP_HOST);
  return `http://${isEverywhere ? '127.0.0.1' : OPERATOR_HTTP_HOST}:${OPERATOR_HTTP_PORT}`;
}
