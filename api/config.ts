import { z } from 'zod';
import {
  clickhouseBlock,
  databaseBlock,
  processBlock,
  temporalBlock,
  webhookBlock,
  wholeNumber,
} from '../pipelines/runtime/config.ts';
import { tracingBlock } from '../pipelines/runtime/tracing/tracing.ts';
import { isRegisterName, type RegisterName } from '../schemas/registers.ts';

const registerList = z
  .string()
  .transform((text) => text.split(',').map((name) => name.trim()))
  .refine((names) => names.every(isRegisterName), 'names of registers, separated by commas')
  .transform((names) => names as RegisterName[]);

/** The api's settings: see deploy/runtime/config.ts for the shared blocks. */
export const apiConfiguration = z.object({
  ...processBlock.shape,
  ...databaseBlock.shape,
  ...clickhouseBlock.shape,
  ...tracingBlock.shape,
  // It judges addresses and connects to none.
  ...webhookBlock.omit({ EGRESS_EXTRA_CA: true }).shape,
  /** Where a resumed webhook's delivery is woken; without it the worker's sweeper finds the webhook within its interval. */
  TEMPORAL_ADDRESS: temporalBlock.shape.TEMPORAL_ADDRESS.optional(),
  TEMPORAL_NAMESPACE: temporalBlock.shape.TEMPORAL_NAMESPACE,
  /** Opens the calendar and nothing else; public by intent. */
  SANDBOX_TOKEN: z.string().min(8).default('pad_sandbox_publico'),
  /** How often operators' additions to the calendar are read: they are to be seen within a minute. */
  CALENDAR_POLL_MS: wholeNumber(100, 45_000).default(20_000),
  /** Key of the hash under which audited RUCs are kept; a key made from it seals the cursors of searches. */
  AUDIT_HMAC_KEY: z.string().min(32, 'at least 32 characters'),
  /** Proxies before this process that add to X-Forwarded-For; 0: the caller's address is the connection's. */
  TRUSTED_PROXY_HOPS: wholeNumber(0, 10).default(0),
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
  REQUIRED_REGISTERS: registerList.default(['padron_reducido', 'agentes_retencion', 'buenos_contribuyentes']),
  /** How long a batch that died keeps its Idempotency-Key. Longer than any batch takes: one that is overtaken is not charged. */
  IDEMPOTENCY_LEASE_MS: wholeNumber(1_000, 600_000).default(60_000),
  /** How long the answer under an Idempotency-Key is given again. */
  IDEMPOTENCY_KEPT_HOURS: wholeNumber(1, 168).default(24),
  /** A supplier check without one of these is `no_determinado`; the two registers of bars by mandate are published late or never. */
  SUPPLIER_REQUIRED_REGISTERS: registerList.default([
    'padron_reducido',
    'padron_mensual',
    'agentes_retencion',
    'buenos_contribuyentes',
    'sancionados',
  ]),
  /** A supplier's change counts as recent for so many days. */
  SUPPLIER_RECENT_CHANGE_DAYS: wholeNumber(0, 366).default(30),
  /** A bar that is over counts as recent for so many days. */
  SUPPLIER_RECENT_BAR_DAYS: wholeNumber(0, 3_660).default(365),
  /** Data count as late when they are older than this; the monthly register's are of the first of their month. */
  SUPPLIER_MAX_DAILY_AGE_DAYS: wholeNumber(1, 366).default(3),
  SUPPLIER_MAX_MONTHLY_AGE_DAYS: wholeNumber(1, 366).default(105),
  SUPPLIER_MAX_LIST_AGE_DAYS: wholeNumber(1, 366).default(45),
});
