import { z } from 'zod';
import {
  clickhouseBlock,
  databaseBlock,
  processBlock,
  temporalBlock,
  tracingBlock,
  webhookBlock,
  wholeNumber,
} from '../pipelines/runtime/config.ts';
import { isRegisterName, type RegisterName } from '../schemas/registers.ts';

const registerList = z
  .string()
  .transform((text) => text.split(',').map((name) => name.trim()))
  .refine((names) => names.every(isRegisterName), 'names of registers, separated by commas')
  .transform((names) => names as RegisterName[]);

/** The API's settings. The shared blocks are in pipelines/runtime/config.ts. */
export const apiConfiguration = z.object({
  ...processBlock.shape,
  ...databaseBlock.shape,
  ...clickhouseBlock.shape,
  ...tracingBlock.shape,
  // The API checks webhook addresses and connects to none.
  ...webhookBlock.omit({ EGRESS_EXTRA_CA: true }).shape,
  /**
   * For waking the delivery of a resumed webhook. Without it the worker's sweeper finds the webhook within its
   * interval.
   */
  TEMPORAL_ADDRESS: temporalBlock.shape.TEMPORAL_ADDRESS.optional(),
  TEMPORAL_NAMESPACE: temporalBlock.shape.TEMPORAL_NAMESPACE,
  /** Opens the calendar and nothing else. It is meant to be public. */
  SANDBOX_TOKEN: z.string().min(8).default('pad_sandbox_publico'),
  /** How often operators' additions to the calendar are read. They must appear within a minute. */
  CALENDAR_POLL_MS: wholeNumber(100, 45_000).default(20_000),
  /** Key of the hash under which audited RUCs are stored. A key derived from it seals the cursors of searches. */
  AUDIT_HMAC_KEY: z.string().min(32, 'at least 32 characters'),
  /** Proxies in front of this process that add to X-Forwarded-For. 0: the caller's address is the connection's. */
  TRUSTED_PROXY_HOPS: wholeNumber(0, 10).default(0),
  /** How long a look-up waits for others that can share its ClickHouse query. */
  LOOKUP_WAIT_MS: wholeNumber(0, 1_000).default(2),
  /** RUCs per ClickHouse query. */
  LOOKUP_MAX_KEYS: wholeNumber(1, 10_000).default(300),
  /** ClickHouse queries of look-ups that run at the same time. */
  LOOKUP_IN_FLIGHT: wholeNumber(1, 1_000).default(2),
  /**
   * /readyz is false until each of these has a materialised edition; separated by commas. The default is the registers
   * whose fields every answer has. Nothing waits for the monthly register, a subset that is published once a month.
   */
  REQUIRED_REGISTERS: registerList.default(['padron_reducido', 'agentes_retencion', 'buenos_contribuyentes']),
  /**
   * How long a batch that died keeps its Idempotency-Key. Longer than any batch takes, since one that loses its key is
   * not charged.
   */
  IDEMPOTENCY_LEASE_MS: wholeNumber(1_000, 600_000).default(60_000),
  /** How long the answer under an Idempotency-Key is repeated. */
  IDEMPOTENCY_KEPT_HOURS: wholeNumber(1, 168).default(24),
  /**
   * A supplier check without one of these is `no_determinado`. The judicial and administrative bars are published late
   * or never.
   */
  SUPPLIER_REQUIRED_REGISTERS: registerList.default([
    'padron_reducido',
    'padron_mensual',
    'agentes_retencion',
    'buenos_contribuyentes',
    'sancionados',
  ]),
  /** Days for which a supplier's change counts as recent. */
  SUPPLIER_RECENT_CHANGE_DAYS: wholeNumber(0, 366).default(30),
  /** Days for which an ended bar counts as recent. */
  SUPPLIER_RECENT_BAR_DAYS: wholeNumber(0, 3_660).default(365),
  /** Data older than this count as late. The monthly register's data are dated the first of their month. */
  SUPPLIER_MAX_DAILY_AGE_DAYS: wholeNumber(1, 366).default(3),
  SUPPLIER_MAX_MONTHLY_AGE_DAYS: wholeNumber(1, 366).default(105),
  SUPPLIER_MAX_LIST_AGE_DAYS: wholeNumber(1, 366).default(45),
});
