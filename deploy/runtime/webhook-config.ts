import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { egressBlock } from './config.ts';
import type { EgressPolicy } from './egress/policy.ts';
import { parseKeyRing, SecretError } from './secrets.ts';

/** What the api (registering webhooks) and the worker (sending to them) must agree on. */
export const webhookBlock = z.object({
  ...egressBlock.shape,
  /** `id:base64-of-32-bytes`, the sealing key first, older ones after it, separated by commas. */
  WEBHOOK_SECRET_KEYS: z.string().transform((text, context) => {
    try {
      return parseKeyRing(text);
    } catch (error) {
      context.addIssue({ code: 'custom', message: error instanceof SecretError ? error.message : 'not a key ring' });
      return z.NEVER;
    }
  }),
  /** Ports that a webhook's URL may name, separated by commas. */
  WEBHOOK_PORTS: z
    .string()
    .regex(/^[0-9]{1,5}(,[0-9]{1,5})*$/, 'port numbers, separated by commas')
    .default('443,8443')
    .transform((text) => text.split(',').map(Number)),
  /** Where callers reach the api: a webhook there would be a delivery loop. Without it addresses in answers are relative. */
  PUBLIC_BASE_URL: z
    .url({ protocol: /^https?$/ })
    .transform((url) => url.replace(/\/+$/, ''))
    .optional(),
});

/** @throws Error when the certificate file cannot be read */
export function webhookEgressPolicy(config: z.output<typeof webhookBlock>): EgressPolicy {
  return {
    allowPrivateTargets: config.ALLOW_PRIVATE_TARGETS,
    allowedPorts: config.WEBHOOK_PORTS,
    ...(config.PUBLIC_BASE_URL === undefined ? {} : { ownBaseUrls: [config.PUBLIC_BASE_URL] }),
    ...(config.EGRESS_EXTRA_CA === undefined ? {} : { extraCaPem: readFileSync(config.EGRESS_EXTRA_CA, 'utf8') }),
  };
}
