import type { ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import type { OpenDelta } from '../../pipelines/deltas/files.ts';
import { ApiProblem } from '../problems.ts';
import type { ByteRange } from './ranges.ts';

export interface DownloadLimits {
  /** Downloads at once in this process: of one account, and of all. A reader of Parquet asks for parts in parallel. */
  maxPerAccount: number;
  maxPerProcess: number;
  /** A client that takes nothing for so long is cut off. It can go on with a range. */
  stallMs: number;
  retryAfterSeconds: number;
}

export const defaultDownloadLimits: DownloadLimits = {
  maxPerAccount: 8,
  maxPerProcess: 64,
  stallMs: 60_000,
  retryAfterSeconds: 5,
};

/** The downloads of this process. Each holds a place until its response closes, whoever closes it. */
export class Downloads {
  readonly #limits: DownloadLimits;
  readonly #open = new Map<ServerResponse, number>();

  constructor(limits = defaultDownloadLimits) {
    this.#limits = limits;
  }

  get count(): number {
    return this.#open.size;
  }

  /** @throws ApiProblem demasiadas_descargas, or servicio_no_disponible when other accounts have all places */
  take(accountId: number, response: ServerResponse): void {
    const { maxPerAccount, maxPerProcess, stallMs, retryAfterSeconds } = this.#limits;
    const headers = { 'Retry-After': String(retryAfterSeconds) };
    const own = [...this.#open.values()].filter((each) => each === accountId).length;
    if (own >= maxPerAccount) {
      const detail = `La cuenta admite hasta ${maxPerAccount} descargas a la vez y las tiene. Espere a que termine una.`;
      throw new ApiProblem('demasiadas_descargas', detail, {}, headers);
    }
    if (this.#open.size >= maxPerProcess)
      throw new ApiProblem('servicio_no_disponible', 'Hay demasiadas descargas en curso.', {}, headers);
    // The client may have gone before this line. Then 'close' does not come again.
    if (response.destroyed) return;
    this.#open.set(response, accountId);
    response.once('close', () => this.#open.delete(response));
    response.setTimeout(stallMs, () => response.destroy());
  }

  /** Cuts all downloads, because the stop of the server waits for open responses. Clients go on with a range. */
  stop(): void {
    for (const response of this.#open.keys()) response.destroy();
  }
}

/** Bytes that are read from the disk at once. */
const pieceBytes = 256 * 1_024;

/**
 * Reads a range of the file and closes the file at the end, or when the stream is destroyed. Fails if the file ends
 * early, so that the response is cut and never looks complete.
 */
export function rangeStream({ file }: Pick<OpenDelta, 'file'>, { first, last }: ByteRange): Readable {
  const source = file.createReadStream({ start: first, end: last, highWaterMark: pieceBytes });
  const stream = Readable.from(exactly(source, last - first + 1), { objectMode: false, highWaterMark: pieceBytes });
  // A stream that is destroyed before its first byte never runs the generator.
  stream.once('close', () => source.destroy());
  return stream;
}

async function* exactly(source: AsyncIterable<Buffer>, bytes: number): AsyncGenerator<Buffer> {
  let left = bytes;
  for await (const piece of source) {
    left -= piece.length;
    yield piece;
  }
  if (left !== 0) throw new Error(`a delta file ends ${left} bytes early`);
}
