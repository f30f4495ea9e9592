import { type Span, trace } from '@opentelemetry/api';
import DataLoader from 'dataloader';
import type { ClickHouseClient } from '../../pipelines/runtime/clickhouse.ts';
import { inSharedSpan } from '../../pipelines/runtime/tracing/span.ts';

/**
 * Decides when a batch of look-ups is sent. While no query runs, a batch is sent in the next turn of the event loop, so
 * a single look-up does not wait. While queries run, look-ups gather until a query ends, but no longer than `waitMs` if
 * fewer than `inFlight` queries run.
 */
interface BatchGate {
  /** DataLoader's batchScheduleFn, which DataLoader calls once per new batch with the function that sends the batch. */
  schedule(send: () => void): void;
  /** Wraps a batch's query, so that the gate knows when the query has ended. */
  during<Result>(query: () => Promise<Result>): Promise<Result>;
}

export function makeBatchGate(limits: { waitMs: number; inFlight: number }): BatchGate {
  const gathered: { send: () => void; isDue: boolean }[] = [];
  let running = 0;

  const sendNext = () => {
    const batch = gathered.shift();
    if (batch === undefined) return;
    // Count the query here and not in during(), so that it counts even before send() has called during().
    running += 1;
    batch.send();
  };
  const sendDue = () => {
    while (gathered.length > 0 && running < limits.inFlight) {
      // DataLoader starts a second batch only when the first is full. So if two batches are gathered, the first is sent
      // without waiting longer.
      if (running > 0 && gathered.length === 1 && !gathered[0]!.isDue) return;
      sendNext();
    }
  };

  return {
    schedule(send) {
      const batch = { send, isDue: false };
      gathered.push(batch);
      // Do not call `send` here: DataLoader adds the key to its new batch only after this call returns. Otherwise the
      // batch would be sent without the key, and the look-up would wait for ever.
      if (running === 0 || gathered.length > 1) setImmediate(sendDue);
      // The timer itself says that the batch has waited long enough. A clock read when it fires could show less, because
      // Node counts a timer from the start of the event loop's turn. The batch would then wait for a running query.
      setTimeout(() => {
        batch.isDue = true;
        sendDue();
      }, limits.waitMs);
    },
    async during(query) {
      try {
        return await query();
      } finally {
        running -= 1;
        setImmediate(sendDue);
      }
    },
  };
}

/**
 * Settings for short queries:
 * - One thread per query, because all look-ups share the engine.
 * - `wait_end_of_query`: the engine sends a whole answer or an error, never the start of an answer.
 * - A granularity of 2 makes fine steps through the index, which suit look-ups of single RUCs.
 * - The last three turn off features that help only long queries (newer analyzer, moving conditions to PREWHERE,
 *   condition cache). A look-up then costs a sixth less.
 */
const settings = {
  max_threads: 1,
  wait_end_of_query: 1,
  merge_tree_coarse_index_granularity: '2',
  enable_analyzer: 0,
  optimize_move_to_prewhere: 0,
  use_query_condition_cache: 0,
} as const;

/** Runs a look-up's query and returns the whole answer. */
export async function queryBytes(clickhouse: ClickHouseClient, query: string): Promise<Buffer> {
  const { stream } = await clickhouse.exec({
    query,
    clickhouse_settings: settings,
  });
  const pieces: Buffer[] = [];
  for await (const piece of stream as AsyncIterable<Buffer>) pieces.push(piece);
  return pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces);
}

export interface SharedQueryLimits {
  gate: BatchGate;
  /** Largest number of RUCs in one query. */
  maxKeys: number;
}

/**
 * Makes a function that answers for one RUC. Calls that wait at the same time share one query. Traces show the query
 * under the first request that waits for it, with links to the other requests.
 */
export function makeSharedQuery<Answer>(
  name: string,
  read: (rucs: readonly string[]) => Promise<Answer[]>,
  { gate, maxKeys }: SharedQueryLimits,
): (ruc: string) => Promise<Answer> {
  const loader = new DataLoader<{ ruc: string; by: Span | undefined }, Answer>(
    (asked) =>
      gate.during(() =>
        inSharedSpan(
          name,
          { attributes: { 'padron.rucs': asked.length } },
          asked.map(({ by }) => by),
          () => read(asked.map(({ ruc }) => ruc)),
        ),
      ),
    // No cache: an answer must not be older than its request.
    { cache: false, maxBatchSize: maxKeys, batchScheduleFn: gate.schedule },
  );
  return (ruc) => loader.load({ ruc, by: trace.getActiveSpan() });
}

/** One RUC's current row in a register. */
export interface StoredRow {
  /** The register's `code` in schemas/registers.ts. */
  register: number;
  /** The edition that wrote the row. */
  version: number;
  /** True when the RUC left the register with edition `version`. Such a row has no cells. */
  isDeleted: boolean;
  /** In the order of the columns of edition `version`, which may differ from today's columns. */
  cells: readonly string[];
}

/**
 * Reads rows in ClickHouse's format RowBinary: ruc UInt64, register UInt8, version UInt64, is_deleted UInt8, row
 * String. Numbers are little endian. A string has its length before it as LEB128. Rows have no order. ClickHouse keeps
 * superseded rows until it merges them away, so only the newest row per RUC and register is returned. Rows marked as
 * deleted are returned too, because the answer needs the edition with which a RUC left.
 * @throws RangeError when the bytes end inside a row
 */
export function readTaxpayerRows(bytes: Buffer): Map<number, StoredRow[]> {
  const found = new Map<number, StoredRow[]>();
  let at = 0;
  while (at < bytes.length) {
    const ruc = readUInt64(bytes, at);
    const register = bytes.readUInt8(at + 8);
    const version = readUInt64(bytes, at + 9);
    const isDeleted = bytes.readUInt8(at + 17) === 1;
    const text = readLength(bytes, at + 18);
    const end = text.start + text.length;
    if (end > bytes.length) throw new RangeError('the rows of ClickHouse end inside a row');
    at = end;
    const rows = found.get(ruc) ?? [];
    const known = rows.findIndex((row) => row.register === register);
    if (known >= 0 && rows[known]!.version >= version) continue;
    const cells = isDeleted ? [] : (JSON.parse(bytes.toString('utf8', text.start, end)) as string[]);
    const row = { register, version, isDeleted, cells };
    if (known >= 0) rows[known] = row;
    else rows.push(row);
    found.set(ruc, rows);
  }
  return found;
}

// RUCs and editions are far below 2^53, so a JavaScript number holds them exactly.
export function readUInt64(bytes: Buffer, at: number): number {
  return bytes.readUInt32LE(at) + bytes.readUInt32LE(at + 4) * 2 ** 32;
}

function readLength(bytes: Buffer, at: number): { length: number; start: number } {
  let length = 0;
  let shift = 0;
  let position = at;
  for (;;) {
    const byte = bytes.readUInt8(position);
    position += 1;
    length += (byte & 0x7f) * 2 ** shift;
    if (byte < 0x80) return { length, start: position };
    shift += 7;
  }
}

/**
 * Reads the current rows of RUCs, from all registers at once. Look-ups that wait at the same time share a query,
 * because the engine spends 1.5 ms of CPU per query and only 0.08 ms per RUC. With one query per look-up, the service
 * answered only some 400 look-ups a second when we measured it.
 */
export interface Taxpayers {
  /**
   * Returns the newest row of each register that ever held the RUC, even when that row is marked as deleted. Rejects
   * when ClickHouse does not answer.
   */
  find(ruc: string): Promise<readonly StoredRow[]>;
  findMany(rucs: readonly string[]): Promise<readonly (readonly StoredRow[])[]>;
  /**
   * Returns the RUC of any row in the register, or null when ClickHouse has no row of the register at all. Null means
   * that the rows are lost, so an answer must not claim that a RUC is not in the register.
   */
  anyKeyOf(code: number): Promise<string | null>;
}

export interface LookupLimits {
  /** How long a look-up may wait for others to share its query, in milliseconds. */
  waitMs: number;
  /** Largest number of RUCs in one query. */
  maxKeys: number;
  /** Largest number of queries at the same time. */
  inFlight: number;
}

const nothing: readonly StoredRow[] = [];

export function makeTaxpayers(clickhouse: ClickHouseClient, limits: LookupLimits): Taxpayers {
  const find = makeSharedQuery<readonly StoredRow[]>('look up taxpayers', (rucs) => readBatch(clickhouse, rucs), {
    gate: makeBatchGate(limits),
    maxKeys: limits.maxKeys,
  });
  return {
    find,
    findMany: (rucs) => Promise.all(rucs.map(find)),
    async anyKeyOf(code) {
      const query = `SELECT ruc FROM taxpayer WHERE register = ${code} LIMIT 1 FORMAT TabSeparated`;
      const text = (await queryBytes(clickhouse, query)).toString('utf8').trim();
      return text === '' ? null : text;
    },
  };
}

async function readBatch(clickhouse: ClickHouseClient, rucs: readonly string[]): Promise<(readonly StoredRow[])[]> {
  // The RUCs were checked to be only digits, so they are safe in the query's text. ClickHouse returns few superseded
  // rows. readTaxpayerRows drops them, which costs less than sorting in ClickHouse.
  const bytes = await queryBytes(
    clickhouse,
    `SELECT ruc, register, version, is_deleted, row FROM taxpayer WHERE ruc IN (${rucs.join(',')}) FORMAT RowBinary`,
  );
  const found = readTaxpayerRows(bytes);
  return rucs.map((ruc) => found.get(Number(ruc)) ?? nothing);
}
