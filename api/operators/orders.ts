import { inTransaction, type Pool } from '../../pipelines/runtime/postgres.ts';
import type { RegisterName } from '../../schemas/registers.ts';
import type { OrderedRun } from '../../workflows/publication/schedule.ts';
import { type Actor, recordAct } from './audit.ts';
import { registerSubject } from './decisions.ts';

// Orders to the workflows that change nothing by themselves: asking an official site now, and verifying now.

/** The subject under which orders about all registers are found. */
export const allRegisters = 'all registers';

/** What is ordered: a register whose site is asked, or `verify` for the comparison of all registers. */
export type Order = RegisterName | 'verify';

/**
 * Gives an order and records it. `give` runs before the commit, so an order that did not arrive is not recorded. If the
 * process dies between the two, the order is carried out without a record, which is harmless: it changes nothing.
 */
export function orderBy(
  pool: Pool,
  actor: Actor,
  order: Order,
  give: (order: Order) => Promise<OrderedRun>,
): Promise<OrderedRun> {
  return inTransaction(pool, async (client) => {
    const outcome = await give(order);
    if (outcome === 'paused') return outcome;
    const isCheck = order === 'verify';
    await recordAct(client, actor, {
      ...{ act: isCheck ? 'verify' : 'publications run', subject: isCheck ? allRegisters : registerSubject(order) },
      ...{ reason: null, before: null, after: { outcome } },
    });
    return outcome;
  });
}
