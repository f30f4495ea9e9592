import { z } from 'zod';
import { defaultDeltaLimits } from '../pipelines/deltas/files.ts';
import {
  archiveBlock,
  ConfigurationError,
  clickhouseBlock,
  databaseBlock,
  processBlock,
  temporalBlock,
  tracingBlock,
  webhookBlock,
  wholeNumber,
} from '../pipelines/runtime/config.ts';
import { isRegisterName, type RegisterName } from '../schemas/registers.ts';
import { identityProviderBlock, identityProviderOf, operatorBlock } from './operators/config.ts';

const registerList = z
  .string()
  .transform((text) => text.split(',').map((name) => name.trim()))
  .refine((names) => names.every(isRegisterName), 'names of registers, separated by commas')
  .transform((names) => names as RegisterName[]);

/** The API's settings. pipelines/runtime/config.ts has the groups of settings that other processes also use. */
export const apiConfiguration = z.object({
  ...processBlock.shape,
  HTTP_HOST: z.string().default('127.0.0.1'),
  /** Port of the public routes and of a second /healthz. 0 means any free port. */
  HTTP_PORT: wholeNumber(0, 65_535).default(0),
  /**
   * How long the API goes on serving after it was asked to stop, with /readyz and the public /healthz at 503. Set it to
   * the time that load balancers need to notice this and to send requests elsewhere. Less than STOP_DEADLINE_MS.
   */
  STOP_DRAIN_MS: wholeNumber(0, 600_000).default(0),
  ...databaseBlock.shape,
  ...clickhouseBlock.shape,
  ...tracingBlock.shape,
  // The API checks webhook addresses but does not connect to them, so it needs no extra certificates.
  ...webhookBlock.omit({ EGRESS_EXTRA_CA: true }).shape,
  /**
   * Address of Temporal, through which the API wakes the workflow of a webhook that has something to send. Without an
   * address, the worker's sweeper wakes the workflow in its next round.
   */
  ...temporalBlock.partial({ TEMPORAL_ADDRESS: true }).shape,
  /**
   * Where publications and change files are, and the folder for the files made from them. Without both, no delta files
   * are served, and the operators' console shows no lines of files.
   */
  ...archiveBlock.partial().shape,
  /** How long a download waits for its file to be made. Then the client is asked to come again. */
  DELTA_WAIT_MS: wholeNumber(0, 60_000).default(defaultDeltaLimits.waitMs),
  ...operatorBlock.shape,
  ...identityProviderBlock.shape,
  /** A public token that opens only the calendar. */
  SANDBOX_TOKEN: z.string().min(8).default('pad_sandbox_publico'),
  /** Pause between two reads of operators' additions to the calendar. An addition must appear within a minute. */
  CALENDAR_POLL_MS: wholeNumber(100, 45_000).default(20_000),
  /** Key of the hash that the audit stores instead of a RUC. A key derived from it seals the cursors of searches. */
  AUDIT_HMAC_KEY: z.string().min(32, 'at least 32 characters'),
  /** Number of our proxies that add to X-Forwarded-For. With 0 the caller's address is the connection's address. */
  TRUSTED_PROXY_HOPS: wholeNumber(0, 10).default(0),
  /** How long a look-up waits at most, while queries of other look-ups run, for those that can share its own. */
  LOOKUP_WAIT_MS: wholeNumber(0, 1_000).default(2),
  /** Largest number of RUCs in one ClickHouse query of look-ups. */
  LOOKUP_MAX_KEYS: wholeNumber(1, 10_000).default(300),
  /** Largest number of look-ups' ClickHouse queries that run at the same time. */
  LOOKUP_IN_FLIGHT: wholeNumber(1, 1_000).default(2),
  /**
   * /readyz fails until each of these registers has a materialised edition. Names are separated by commas. The default
   * lists the registers whose fields are in every answer. The monthly register is not among them: it has only some
   * taxpayers and is published once a month.
   */
  REQUIRED_REGISTERS: registerList.default(['padron_reducido', 'agentes_retencion', 'buenos_contribuyentes']),
  /**
   * How long a batch's Idempotency-Key stays taken if the batch's process dies. This time must be longer than any batch
   * runs. Otherwise a running batch can lose its key and is then not charged.
   */
  IDEMPOTENCY_LEASE_MS: wholeNumber(1_000, 600_000).default(60_000),
  /** How long a request that repeats an Idempotency-Key gets the stored answer. */
  IDEMPOTENCY_KEPT_HOURS: wholeNumber(1, 168).default(24),
  /**
   * A supplier check answers `no_determinado` while one of these registers has no data. The default leaves out the
   * registers of judicial and administrative bars, which are published late or never.
   */
  SUPPLIER_REQUIRED_REGISTERS: registerList.default([
    'padron_reducido',
    'padron_mensual',
    'agentes_retencion',
    'buenos_contribuyentes',
    'sancionados',
  ]),
  SUPPLIER_RECENT_CHANGE_DAYS: wholeNumber(0, 366).default(30),
  /** For this many days after its end, a supplier's bar from state contracting counts as recent. */
  SUPPLIER_RECENT_BAR_DAYS: wholeNumber(0, 3_660).default(365),
  // Each of the next three settings is the age in days above which a register's data count as late. The date of the
  // monthly register is the first day of its month.
  SUPPLIER_MAX_DAILY_AGE_DAYS: wholeNumber(1, 366).default(3),
  SUPPLIER_MAX_MONTHLY_AGE_DAYS: wholeNumber(1, 366).default(105),
  SUPPLIER_MAX_LIST_AGE_DAYS: wholeNumber(1, 366).default(45),
});

/** @throws Error when two settings contradict each other, or one needs another */
export function checkApiConfiguration(config: z.output<typeof apiConfiguration>): void {
  const { STOP_DRAIN_MS, STOP_DEADLINE_MS } = config;
  identityProviderOf(config);
  if (STOP_DRAIN_MS >= STOP_DEADLINE_MS)
    throw new ConfigurationError('STOP_DRAIN_MS must be less than STOP_DEADLINE_MS, or requests in flight are cut');
}

export type ApiConfiguration = z.output<typeof apiConfiguration>;
