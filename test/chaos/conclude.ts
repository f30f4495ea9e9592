import { type DeliveryLedger, percent, repeatedShare } from './delivery-ledger.ts';

/** Prints the faults, which must be none, and sets the exit code. @param startedAt ms since 1970 */
export function conclude(faults: readonly string[], startedAt: number): void {
  console.log(`${faults.length} faults after ${((Date.now() - startedAt) / 1000).toFixed(0)} s`);
  for (const fault of faults.slice(0, 50)) console.log(`  ${fault}`);
  process.exitCode = faults.length === 0 ? 0 : 1;
}

export function showLedger(ledger: DeliveryLedger): void {
  const { lost, uncalledFor, repeatedUnexplained, unrecorded, ...counts } = ledger;
  console.table({
    ...counts,
    repeatedUnexplained: repeatedUnexplained.length,
    repeatedShare: percent(repeatedShare(ledger)),
    lost: lost.length,
    uncalledFor: uncalledFor.length,
    unrecorded: unrecorded.length,
  });
}
