import { Writable } from 'node:stream';
import pino, { type Logger } from 'pino';

/** A log that keeps its parsed lines. */
export function keepLines(): { log: Logger; lines: Record<string, unknown>[] } {
  const lines: Record<string, unknown>[] = [];
  const to = new Writable({
    write(chunk: Buffer, _encoding, done) {
      lines.push(JSON.parse(chunk.toString()) as Record<string, unknown>);
      done();
    },
  });
  return { log: pino({ base: null }, to), lines };
}
