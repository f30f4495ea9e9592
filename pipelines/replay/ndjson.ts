import { Readable, type Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ToldChange } from './told-changes.ts';

/** One JSON object a line; waits for a slow reader and leaves the stream open. `report` gets the lines given so far. */
export async function writeNdjson(
  batches: AsyncIterable<readonly ToldChange[]>,
  out: Writable,
  report: (rows: number) => void,
  signal: AbortSignal,
): Promise<number> {
  let rows = 0;
  async function* lines(): AsyncGenerator<string> {
    for await (const changes of batches) {
      yield changes.map((change) => `${JSON.stringify(lineOf(change))}\n`).join('');
      rows += changes.length;
      report(rows);
    }
  }
  await pipeline(Readable.from(lines(), { objectMode: false }), out, { signal, end: false });
  return rows;
}

function lineOf(change: ToldChange): unknown {
  return { ...change, detected_at: new Date(change.detected_at).toISOString() };
}
