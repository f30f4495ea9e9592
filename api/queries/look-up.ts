import DataLoader from 'dataloader';
import type { ClickHouseClient } from '../../pipelines/runtime/clickhouse.ts';
import { noTracing, type OpenUnit, type Tracing } from '../../pipelines/runtime/tracing/tracing.ts';

/**
 * Decides when a gathered batch of look-ups is sent. While no query runs, a batch leaves with the next turn of the event
 * loop: a lone look-up waits for nobody. While one runs, look-ups gather until it ends or until they have waited `waitMs`
 * and a place is free.
 */
interface BatchGate {
  /** For DataLoader's batchScheduleFn: called once per new batch with what sends it. */
  schedule(send: () => void): void;
  /** Wraps the query of a batch, so that the gate knows when its place is free again. */
  during<Result>(query: () => Promise<Result>): Promise<Result>;
}

export function makeBatchGate(limits: { waitMs: number; inFlight: number }): BatchGate {
  const gathered: { send: () => void; since: number }[] = [];
  let running = 0;

  const sendNext = () => {
    const batch = gathered.shift();
    if (batch === undefined) return;
    // The query starts inside send(), by way of during(); counting there would let two batches pass in one turn.
    running += 1;
    batch.send();
  };
  const sendDue = () => {
    while (gathered.length > 0 && running < limits.inFlight) {
      const waited = performance.now() - gathered[0]!.since;
      // More than one gathered batch: the first is full.
      if (running > 0 && gathered.length === 1 && waited < limits.waitMs - 0.5) return;
      sendNext();
    }
  };

  return {
    schedule(send) {
      gathered.push({ send, since: performance.now() });
      // Never at once: DataLoader puts the key into its new batch only after this call, and a batch sent without it would
      // leave its look-up waiting for ever.
      if (running === 0 || gathered.length > 1) setImmediate(sendDue);
      setTimeout(sendDue, limits.waitMs);
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
 * One thread: the engine is shared with every other look-up. A whole answer or an error, never the start of one. Narrow steps through
 * the index: single RUCs are looked for, not ranges. What pays in long queries is off, a sixth of the work of these: the newer
 * analysis, a first pass over the columns of conditions, a cache of what did not match.
 */
const settings = {
  max_threads: 1,
  wait_end_of_query: 1,
  merge_tree_coarse_index_granularity: '2',
  enable_analyzer: 0,
  optimize_move_to_prewhere: 0,
  use_query_condition_cache: 0,
} as const;

/** The answer of a look-up's query, whole. */
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
  /** RUCs of one query. */
  maxKeys: number;
}

/**
 * Answers by RUC, with one query for all that are asked for together; in traces the query belongs to the first request that
 * waits for it and is linked with the others.
 */
export function makeSharedQuery<Answer>(
  name: string,
  read: (rucs: readonly string[]) => Promise<Answer[]>,
  { gate, maxKeys }: SharedQueryLimits,
  tracing: Tracing = noTracing,
): (ruc: string) => Promise<Answer> {
  const loader = new DataLoader<{ ruc: string; by: OpenUnit | undefined }, Answer>(
    (asked) =>
      gate.during(() =>
        tracing.during(
          {
            name,
            kind: 'internal',
            attributes: { 'padron.rucs': asked.length },
            sharedBy: asked.map(({ by }) => by),
          },
          () => read(asked.map(({ ruc }) => ruc)),
        ),
      ),
    // No cache: an answer may not be older than the query it waited for.
    { cache: false, maxBatchSize: maxKeys, batchScheduleFn: gate.schedule },
  );
  return (ruc) => loader.load({ ruc, by: tracing.current() });
}

/** A register's current row of one RUC. */
export interface StoredRow {
  /** Register.code */
  register: number;
  /** The edition that wrote it. */
  version: number;
  /** The RUC left the register with this edition; it has no cells then. */
  isDeleted: boolean;
  /** In the order of the register's columns. */
  cells: readonly string[];
}

/**
 * Reads ClickHouse's RowBinary of (ruc UInt64, register UInt8, version UInt64, is_deleted UInt8, row String): little
 * endian, a string's length before it as a LEB128 number; in any order. Of a RUC's rows of one register only the newest
 * is told: the table holds superseded ones until they are merged away. Rows marked as deleted are told as such: which edition a
 * RUC left is part of the answer.
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

// RUCs and editions are far below 2^53.
function readUInt64(bytes: Buffer, at: number): number {
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
 * Current rows of RUCs, all registers of a RUC in one read. Look-ups that wait at the same time share one query: the
 * engine spends 1.5 ms of CPU per query and 0.08 ms per RUC, so one query per look-up stops near 400 a second.
 */
export interface Taxpayers {
  /** The newest row of each register that ever held the RUC, deleted ones too; empty: none did. Rejects when ClickHouse does not answer. */
  find(ruc: string): Promise<readonly StoredRow[]>;
  /** As `find`, for many at once. */
  findMany(rucs: readonly string[]): Promise<readonly (readonly StoredRow[])[]>;
  /** The key of any row of the register; null: the store holds none, and "not found" would be a claim about nothing. */
  anyKeyOf(code: number): Promise<string | null>;
}

export interface LookupLimits {
  /** How long a look-up may wait for others to share its query, in milliseconds. */
  waitMs: number;
  /** RUCs of one query. */
  maxKeys: number;
  /** Queries running at the same time. */
  inFlight: number;
}

const nothing: readonly StoredRow[] = [];

export function makeTaxpayers(clickhouse: ClickHouseClient, limits: LookupLimits, tracing?: Tracing): Taxpayers {
  const find = makeSharedQuery<readonly StoredRow[]>(
    'look up taxpayers',
    (rucs) => readBatch(clickhouse, rucs),
    { gate: makeBatchGate(limits), maxKeys: limits.maxKeys },
    tracing,
  );
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
  // RUCs are checked digits and nothing else before they come here: written into the text they spare the engine a parameter.
  // Superseded rows that are not merged away yet are few: choosing the newest here is cheaper than sorting there.
  const bytes = await queryBytes(
    clickhouse,
    `SELECT ruc, register, version, is_deleted, row FROM taxpayer WHERE ruc IN (${rucs.join(',')}) FORMAT RowBinary`,
  );
  const found = readTaxpayerRows(bytes);
  return rucs.map((ruc) => found.get(Number(ruc)) ?? nothing);
}
