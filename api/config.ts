import { z } from 'zod';
import {
  clickhouseBlock,
  databaseBlock,
  egressBlock,
  processBlock,
  temporalBlock,
  wholeNumber,
} from '../deploy/runtime/config.ts';
import { isRegisterName, type RegisterName } from '../schemas/registers.ts';

/** The api's settings: see deploy/runtime/config.ts for the shared blocks. */
export const apiConfiguration = z.object({
  ...processBlock.shape,
  ...databaseBlock.shape,
  ...clickhouseBlock.shape,
  ALLOW_PRIVATE_TARGETS: egressBlock.shape.ALLOW_PRIVATE_TARGETS,
  /** Where a resumed webhook's delivery is woken; without it the worker's sweeper finds the webhook within its interval. */
  TEMPORAL_ADDRESS: temporalBlock.shape.TEMPORAL_ADDRESS.optional(),
  TEMPORAL_NAMESPACE: temporalBlock.shape.TEMPORAL_NAMESPACE,
  /** Where callers reach this API; empty: addresses in answers are relative, and no webhook can be told from our own. */
  PUBLIC_BASE_URL: z
    .url({ protocol: /^https?$/ })
    .transform((url) => url.replace(/\/+$/, ''))
    .optional(),
  /** Opens the calendar and nothing else; public by intent. */
  SANDBOX_TOKEN: z.string().min(8).default('pad_sandbox_publico'),
  /** How often operators' additions to the calendar are read: they are to be seen within a minute. */
  CALENDAR_POLL_MS: wholeNumber(100, 45_000).default(20_000),
  /** Key of the hash under which audited RUCs are kept. */
  AUDIT_HMAC_KEY: z.string().min(32, 'at least 32 characters'),
  /** `id:base64-of-32-bytes[,older…]`: the first seals webhooks' secrets. */
  WEBHOOK_SECRET_KEYS: z.string().min(1),
  /** Ports that a webhook's URL may name, separated by commas. */
  WEBHOOK_PORTS: z
    .string()
    .regex(/^[0-9]{1,5}(,[0-9]{1,5})*$/, 'ports, separated by commas')
    .transform((text) => text.split(',').map(Number))
    .default([443, 8443]),
  /** How long a look-up may wait for others to share its ClickHouse query. */
  LOOKUP_WAIT_MS: wholeNumber(0, 1_000).default(2),
  /** RUCs of one ClickHouse query. */
  LOOKUP_MAX_KEYS: wholeNumber(1, 10_000).default(300),
  /** ClickHouse queries of look-ups at the same time. */
  LOOKUP_IN_FLIGHT: wholeNumber(1, 1_000).default(2),
  /**
   * /readyz is false until each of these has a materialised edition; separated by commas. By default those whose fields an
   * answer always has: the monthly register is a subset that comes once a month, and nothing waits for it.
   */
  REQUIRED_REGISTERS: z
    .string()
    .transform((text) => text.split(',').map((name) => name.trim()))
    .refine((names) => names.every(isRegisterName), 'names of registers, separated by commas')
    .transform((names) => names as RegisterName[])
    .default(['padron_reducido', 'agentes_retencion', 'buenos_contribuyentes']),
});
