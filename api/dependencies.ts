import type { Registry } from 'prom-client';
import type { DeltaFiles } from '../pipelines/deltas/files.ts';
import type { TargetProblem } from '../pipelines/runtime/egress/policy.ts';
import type { Logger } from '../pipelines/runtime/log.ts';
import type { Pool } from '../pipelines/runtime/postgres.ts';
import type { SealedSecret } from '../pipelines/runtime/secrets.ts';
import type { UbigeoCatalogue } from '../schemas/ubigeo.ts';
import type { Identify, IdentifyReader } from './accounts/callers.ts';
import type { CurrentCalendar } from './calendar/store.ts';
import type { Catalogue } from './catalogue.ts';
import type { Downloads } from './editions/downloads.ts';
import type { EventStreams } from './event-stream/streams.ts';
import type { IdempotentAnswers } from './idempotency/answers.ts';
import type { Meter } from './metering/meter.ts';
import type { MinuteLimits } from './metering/minute-limits.ts';
import type { RecordAnswers } from './queries/audit.ts';
import type { FindRecord } from './queries/current-rows.ts';
import type { FindHistory } from './queries/history.ts';
import type { Taxpayers } from './queries/look-up.ts';
import type { FindRecordOnDay } from './queries/record-on-day.ts';
import type { ReadStatus } from './queries/register-status.ts';
import type { FindCompanies } from './search/find-companies.ts';
import type { Positions } from './search/rank.ts';
import type { RequireNames } from './search/store.ts';
import type { SupplierThresholds } from './supplier/bars.ts';
import type { FindSupplier } from './supplier/check.ts';
import type { FindRecentChanges } from './supplier/recent-changes.ts';

/** All that the app's middleware and handlers use. main.ts builds it once. */
export interface ApiDependencies {
  log: Logger;
  requestLog: Logger;
  metrics: Registry;
  /**
   * The URL where callers reach this API, without a slash at its end. With an empty URL, links begin with a slash and
   * lead to the server that sent the answer.
   */
  baseUrl: string;
  /** Number of our own proxies in front of this process. Each proxy adds its caller's address to X-Forwarded-For. */
  proxyHops: number;
  sandboxToken: string;
  now(): Date;
  pool: Pool;
  identify: Identify;
  identifyReader: IdentifyReader;
  minuteLimits: MinuteLimits;
  meter: Meter;
  idempotentAnswers: IdempotentAnswers;
  recordAnswers: RecordAnswers;
  catalogue: Catalogue;
  /** The public status of all registers, from memory while PostgreSQL is down. */
  readStatus: ReadStatus;
  taxpayers: Taxpayers;
  ubigeos: UbigeoCatalogue;
  findRecord: FindRecord;
  findRecordOnDay: FindRecordOnDay;
  findHistory: FindHistory;
  findCompanies: FindCompanies;
  requireNames: RequireNames;
  positions: Positions;
  findSupplier: FindSupplier;
  findRecentChanges: FindRecentChanges;
  supplierThresholds: SupplierThresholds;
  /** Returns the current calendar. Call this once per answer, so that data and version belong to the same moment. */
  calendar(): CurrentCalendar;
  streams: EventStreams;
  /** Null when this process has no archive or no folder for files. */
  deltas: DeltaFiles | null;
  downloads: Downloads;
  /**
   * Checks a webhook URL: its form, port and host name, and every IP address of the host. Returns the normalised URL,
   * or the kind of problem.
   */
  checkTarget(url: string): Promise<{ ok: true; url: string } | { ok: false; problem: TargetProblem }>;
  makeSecret(): string;
  sealSecret(webhookId: string, secret: string): SealedSecret;
  /** Wakes a webhook's delivery workflow. If the wake-up is lost, the worker's sweeper finds the webhook later. */
  wake(webhookId: string): Promise<void>;
}
