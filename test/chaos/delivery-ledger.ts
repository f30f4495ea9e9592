import type { Pool } from '../../pipelines/runtime/postgres.ts';

export interface DeliveryLedger {
  expected: number;
  /** Requests that receivers saw, repeats included. */
  arrived: number;
  lost: string[];
  /** Came, but nothing should have been sent. */
  uncalledFor: string[];
  /** Came more than once, each further time after a try whose outcome the worker could not know: a kill in flight. */
  repeatedByKill: number;
  /** Came again although a try before it was answered and recorded. */
  repeatedUnexplained: string[];
  /** Arrived, but not recorded as delivered. */
  unrecorded: string[];
}

interface DeliveryAttempts {
  id: string;
  estado: string;
  /** Tries without an answer: nobody on our side knows whether the receiver has it. */
  unknown: number;
}

/** Compares what must have come, what came, and what the product has recorded of it. */
export async function ledgerOf(
  pool: Pool,
  expected: ReadonlySet<string>,
  arrivals: readonly string[],
): Promise<DeliveryLedger> {
  const { rows } = await pool.query<DeliveryAttempts>(
    `SELECT d.id, d.estado, count(*) FILTER (WHERE a.http_status IS NULL) AS unknown
     FROM delivery d LEFT JOIN attempt a ON a.day = d.day AND a.delivery_id = d.id GROUP BY d.id, d.estado`,
  );
  const recorded = new Map(rows.map((row) => [row.id, row]));
  const times = new Map<string, number>();
  for (const id of arrivals) times.set(id, (times.get(id) ?? 0) + 1);
  const repeated = [...times].filter(([, count]) => count > 1);
  const unexplained = repeated.filter(([id, count]) => count - 1 > (recorded.get(id)?.unknown ?? 0));
  return {
    expected: expected.size,
    arrived: arrivals.length,
    lost: [...expected].filter((id) => !times.has(id)),
    uncalledFor: [...times.keys()].filter((id) => !expected.has(id)),
    repeatedByKill: repeated.length - unexplained.length,
    repeatedUnexplained: unexplained.map(([id]) => id),
    unrecorded: [...expected].filter((id) => recorded.get(id)?.estado !== 'entregada'),
  };
}

const maxRepeatedShare = 0.001;
/** Among fewer notices, those that one kill finds in flight would be more than the share. */
const shareFromNotices = 10_000;

export function repeatedShare({ expected, repeatedByKill, repeatedUnexplained }: DeliveryLedger): number {
  return (repeatedByKill + repeatedUnexplained.length) / expected;
}

/** Everything that must not be; empty is the only good outcome. */
export function faultsOf(ledger: DeliveryLedger): string[] {
  const { lost, uncalledFor, repeatedUnexplained, unrecorded, expected } = ledger;
  const faults = [
    ...lost.map((id) => `lost: ${id}`),
    ...uncalledFor.map((id) => `uncalled for: ${id}`),
    ...unrecorded.map((id) => `not recorded as delivered: ${id}`),
    ...repeatedUnexplained.map((id) => `repeated without a kill that explains it: ${id}`),
  ];
  const share = repeatedShare(ledger);
  if (expected >= shareFromNotices && share > maxRepeatedShare) {
    faults.push(`${percent(share)} of the notices repeated, limit ${percent(maxRepeatedShare)}`);
  }
  return faults;
}

export function percent(share: number): string {
  return `${(share * 100).toFixed(3)} %`;
}
