import type { Readable, Transform } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';

export interface CappedBody {
  body: Buffer;
  problem: 'cut' | 'broken' | null;
}

/**
 * Reads at most `maxBytes` of a body, counted after decompression, then drops the rest together with its socket. Never
 * rejects: a body that breaks off gives what came before.
 */
export async function readCapped(
  source: Readable,
  contentEncoding: string | string[] | undefined,
  maxBytes: number,
): Promise<CappedBody> {
  const decoder = decoderOf(contentEncoding);
  const stream = decoder === null ? source : source.pipe(decoder);
  // pipe() forwards no failure; without this a connection that breaks would leave the decoder waiting for ever.
  if (decoder !== null) source.once('error', (error) => decoder.destroy(error));
  const pieces: Buffer[] = [];
  let room = maxBytes;
  let problem: CappedBody['problem'] = null;
  try {
    for await (const piece of stream as AsyncIterable<Buffer>) {
      if (piece.length > room) {
        pieces.push(piece.subarray(0, room));
        problem = 'cut';
        break;
      }
      pieces.push(piece);
      room -= piece.length;
    }
  } catch {
    problem = 'broken';
  }
  // Leaving the loop destroys only the stream that was iterated; the socket hangs on the source.
  source.on('error', () => {});
  if (!source.destroyed && !source.readableEnded) source.destroy();
  return { body: Buffer.concat(pieces), problem };
}

function decoderOf(contentEncoding: string | string[] | undefined): Transform | null {
  // Small chunks, so that a bomb is stopped near the cap and not after one large piece.
  const options = { chunkSize: 16_384 };
  switch (
    String(contentEncoding ?? '')
      .trim()
      .toLowerCase()
  ) {
    case 'gzip':
    case 'x-gzip':
      return createGunzip(options);
    case 'deflate':
      return createInflate(options);
    case 'br':
      return createBrotliDecompress(options);
    default:
      return null;
  }
}
