import type { Pool } from '../../pipelines/runtime/postgres.ts';

export interface DeliveryLedger {
  expected: number;
  /** Requests that the receivers saw, repeats included. */
  arrived: number;
  lost: string[];
  /** Arrived although nothing should have been sent. */
  uncalledFor: string[];
  /** Arrived again only after attempts whose outcome the worker could not know, because of a kill in flight. */
  repeatedByKill: number;
  /** Arrived again although an earlier attempt was answered and recorded. */
  repeatedUnexplained: string[];
  /** Expected, but not recorded as delivered. */
  unrecorded: string[];
}

interface DeliveryAttempts {
  id: string;
  estado: string;
  /** Attempts without an answer: the product cannot know whether the receiver got them. */
  unknown: number;
}

/** Compares the expected deliveries with those that arrived and those that the product recorded. */
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
/** The share is not judged below this number, because the deliveries in flight at a single kill would exceed it. */
const shareFromDeliveries = 10_000;

export function repeatedShare({ expected, repeatedByKill, repeatedUnexplained }: DeliveryLedger): number {
  return (repeatedByKill + repeatedUnexplained.length) / expected;
}

/** Everything that must not happen. It must be empty. */
export function faultsOf(ledger: DeliveryLedger): string[] {
  const { lost, uncalledFor, repeatedUnexplained, unrecorded, expected } = ledger;
  const faults = [
    ...lost.map((id) => `lost: ${id}`),
    ...uncalledFor.map((id) => `uncalled for: ${id}`),
    ...unrecorded.map((id) => `not recorded as delivered: ${id}`),
    ...repeatedUnexplained.map((id) => `repeated without a kill that explains it: ${id}`),
  ];
  const share = repeatedShare(ledger);
  if (expected >= shareFromDeliveries && share > maxRepeatedShare) {
    faults.push(`${percent(share)} of the deliveries repeated, limit ${percent(maxRepeatedShare)}`);
  }
  return faults;
}

export function percent(share: number): string {
  return `${(share * 100).toFixed(3)} %`;
}
