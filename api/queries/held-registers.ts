import { type RegisterName, registers } from '../../schemas/registers.ts';
import { makeLastKnown } from '../last-known.ts';
import type { StoredRow } from './taxpayer-rows.ts';
import type { Taxpayers } from './taxpayers.ts';

/**
 * "Not in the register" is a claim that only a store which holds the register can make: one that lost the rows of a register
 * must not say that no RUC exists, nor that nobody is on a list.
 */
export interface HeldRegisters {
  /** What a look-up of this RUC found. */
  note(ruc: string, rows: readonly StoredRow[]): void;
  /** Rejects when the store does not answer or holds no row of one of them. */
  require(names: readonly RegisterName[]): Promise<void>;
}

/** How long a register that was seen counts as held. */
const limits = { freshMs: 5_000, servesMs: 5_000, loadTimeoutMs: 2_000, retryAfterMs: 0, maxEntries: 10 };

/**
 * Asking for any row of a register takes the engine a quarter of a second at full size, since the table is ordered by RUC. So
 * the last key that was found in it, by a look-up or by such a scan, is asked for first, which costs as much as one more
 * look-up; rows are marked as deleted and never removed, so a register that is held holds that one.
 */
export function makeHeldRegisters(taxpayers: Taxpayers, now?: () => number): HeldRegisters {
  const lastSeen = new Map<number, string>();
  // Only a yes is kept: a no is an error, asked again by the next request.
  const held = makeLastKnown(
    async (name: RegisterName) => {
      const { code } = registers[name];
      const ruc = lastSeen.get(code);
      const rows = ruc === undefined ? [] : await taxpayers.find(ruc);
      if (rows.some(({ register }) => register === code)) return;
      const any = await taxpayers.anyKeyOf(code);
      if (any !== null) {
        lastSeen.set(code, any);
        return;
      }
      throw new Error(`ClickHouse holds no row of ${name}, which the catalogue calls materialised`);
    },
    limits,
    now,
  );
  return {
    note(ruc, rows) {
      for (const { register } of rows) lastSeen.set(register, ruc);
    },
    async require(names) {
      if (names.length > 0) await Promise.all(names.map((name) => held.get(name)));
    },
  };
}
