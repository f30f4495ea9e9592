import { checkDigit, rucPrefixes } from '../../schemas/ruc.ts';

/**
 * All keys are below this limit. A bitmap with one bit per key takes 500,000,000 / 8 bytes = 62.5 MB. A RUC's key is
 * (the index of its prefix in `rucPrefixes`) × 10⁸ + the eight digits after the prefix. The key omits the check digit,
 * which follows from the ten other digits. Keys sort like their RUCs.
 */
export const keyLimit = rucPrefixes.length * 100_000_000;
export const noKey = 0xffffffff;

/** Maps two digits to the first key of that prefix, or to -1 when no RUC begins with them. */
export const keyOfPrefix = Int32Array.from({ length: 100 }, (_, prefix) => {
  const index = (rucPrefixes as readonly string[]).indexOf(String(prefix).padStart(2, '0'));
  return index < 0 ? -1 : index * 100_000_000;
});

/** Maps the weighted sum of a RUC's first ten digits (at most 369) to the check digit. */
export const checkDigitOfSum = Uint8Array.from({ length: 370 }, (_, sum) => (11 - (sum % 11)) % 10);

export function rucOfKey(key: number): string {
  const ten = rucPrefixes[Math.floor(key / 100_000_000)]! + String(key % 100_000_000).padStart(8, '0');
  return ten + checkDigit(ten);
}

/** The key of the RUC at `start`, or `noKey` if no RUC can begin there. The eleventh digit is not checked. */
export function keyAt(bytes: Uint8Array, start: number, end: number): number {
  if (end - start < 11) return noKey;
  let digits = 0;
  for (let at = start; at < start + 10; at += 1) {
    const digit = bytes[at]! - 48;
    if (digit < 0 || digit > 9) return noKey;
    digits = digits * 10 + digit;
  }
  const first = keyOfPrefix[Math.floor(digits / 100_000_000)]!;
  return first < 0 ? noKey : first + (digits % 100_000_000);
}
