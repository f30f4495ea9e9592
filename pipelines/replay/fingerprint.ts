/** A set of rows, whatever their order: how many, and the sums of both hashes. */
export interface Fingerprint {
  rows: number;
  xx: bigint;
  crc: bigint;
}

export function isSame(one: Fingerprint, other: Fingerprint): boolean {
  return one.rows === other.rows && one.xx === other.xx && one.crc === other.crc;
}

/** Numbers stay exact up to 2⁵³, so the sums of 32-bit hashes are carried over before that. */
const rowsPerCarry = 1 << 20;

export class FingerprintSum {
  rows = 0;
  #xx = 0;
  #crc = 0;
  #xxCarried = 0n;
  #crcCarried = 0n;

  add(xx: number, crc: number): void {
    this.rows += 1;
    this.#xx += xx;
    this.#crc += crc;
    if (this.rows % rowsPerCarry === 0) this.#carry();
  }

  sum(): Fingerprint {
    this.#carry();
    return { rows: this.rows, xx: this.#xxCarried, crc: this.#crcCarried };
  }

  #carry(): void {
    this.#xxCarried += BigInt(this.#xx);
    this.#crcCarried += BigInt(this.#crc);
    this.#xx = 0;
    this.#crc = 0;
  }
}
