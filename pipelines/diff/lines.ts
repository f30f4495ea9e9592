import { lineFeed } from './row-line.ts';
import { slackBytes } from './scan.ts';

/** Whole lines in one piece of memory: `[from, limit)` ends with a line end and `slackBytes` more can be read. */
export interface LineRegion {
  bytes: Uint8Array;
  view: DataView;
  from: number;
  limit: number;
}

/** A line that is longer than this is cut here; it is far past every accepted length, so it is refused either way. */
export const maxCarryBytes = 1 << 20;

/** Cuts pieces of text into regions of whole lines. A line across two pieces is copied, all others stay in place. */
export async function* regionsOf(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<LineRegion> {
  const carry = new Uint8Array(maxCarryBytes + slackBytes);
  const carryView = new DataView(carry.buffer);
  let carried = 0;
  const keep = (piece: Uint8Array) => {
    // One byte stays free for the line end.
    const kept = piece.subarray(0, Math.max(0, maxCarryBytes - 1 - carried));
    carry.set(kept, carried);
    carried += kept.length;
  };
  for await (const chunk of chunks) {
    let from = 0;
    if (carried > 0) {
      const lineEnd = chunk.indexOf(lineFeed);
      keep(lineEnd < 0 ? chunk : chunk.subarray(0, lineEnd));
      if (lineEnd < 0) continue;
      carry[carried] = lineFeed;
      yield { bytes: carry, view: carryView, from: 0, limit: carried + 1 };
      carried = 0;
      from = lineEnd + 1;
    }
    const last = chunk.length > slackBytes ? chunk.lastIndexOf(lineFeed, chunk.length - slackBytes - 1) : -1;
    const limit = Math.max(from, last + 1);
    if (limit > from) {
      yield { bytes: chunk, view: new DataView(chunk.buffer, chunk.byteOffset, chunk.byteLength), from, limit };
    }
    keep(chunk.subarray(limit));
  }
  if (carried === 0) return;
  // A last line without line end counts.
  if (carry[carried - 1] !== lineFeed) carry[carried++] = lineFeed;
  yield { bytes: carry, view: carryView, from: 0, limit: carried };
}
