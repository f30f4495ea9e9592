import { encodeWindows1252 } from '../registers/windows-1252.ts';

const dash = 0x2d;

/** Counts cells that stand for nothing, by column. `markers`: the texts that do, of the register's format. */
export class EmptyCells {
  readonly byColumn: Float64Array;
  /** Bytes of the longest marker; -1 when there is none. */
  readonly longest: number;
  /** 1 where a single dash is a marker: three cells in four of the large registers are one. */
  readonly dashes: 0 | 1;
  /** By length. */
  readonly #markers: Uint8Array[][];

  constructor(columns: number, markers: readonly string[]) {
    this.byColumn = new Float64Array(columns);
    const encoded = markers.map(encodeWindows1252);
    this.longest = encoded.reduce((longest, { length }) => Math.max(longest, length), -1);
    this.dashes = encoded.some((marker) => marker.length === 1 && marker[0] === dash) ? 1 : 0;
    this.#markers = Array.from({ length: this.longest + 1 }, (_, length) =>
      encoded.filter((marker) => marker.length === length),
    );
  }

  /** Whether the cell `[first, end)`, of at most `longest` bytes, is a marker. */
  isMarker(bytes: Uint8Array, first: number, end: number): boolean {
    const markers = this.#markers[end - first]!;
    for (let index = 0; index < markers.length; index += 1) if (isAt(bytes, first, markers[index]!)) return true;
    return false;
  }
}

function isAt(bytes: Uint8Array, first: number, marker: Uint8Array): boolean {
  for (let at = 0; at < marker.length; at += 1) if (bytes[first + at] !== marker[at]) return false;
  return true;
}
