import type { Socket } from 'node:net';
import type { Connection, NativeResult } from './connections.ts';
import type { Engine } from './engine.ts';
import type { Limits } from './limits.ts';
import { asFailure, failure, type QueryFailure, type Reply, type Summary } from './reply.ts';
import type { QueryRequest } from './request.ts';
import { openReader, type Run } from './runs.ts';
import type { Statement } from './statement.ts';

/**
 * Up to this size, the beginning of a result is held back. A query that fails before anything is sent gets an error
 * status instead of rows. ClickHouse servers have a buffer of this size too.
 */
const maxSmallBytes = 1_048_576;
/** Longest time for which the beginning is held back: the small progress rows of some formats must not arrive late. */
const maxSmallMs = 1_000;

/** Passes a result from its pipe to the caller without parsing it. */
class Outgoing {
  /** The error to answer with when this process, and not the engine, has given up the result. */
  overflow: QueryFailure | undefined;
  readonly #reply: Reply;
  readonly #format: string;
  readonly #limits: Limits;
  readonly #onBegin: () => void;
  #held: Buffer[] = [];
  #heldBytes = 0;
  #discarding = false;
  #stream: Socket | undefined;
  #soon: NodeJS.Timeout | undefined;
  #stalled: NodeJS.Timeout | undefined;

  constructor(reply: Reply, format: string, limits: Limits, onBegin: () => void) {
    this.#reply = reply;
    this.#format = format;
    this.#limits = limits;
    this.#onBegin = onBegin;
  }

  /** Begins to read the pipe. @param stop kills the query; it is called when the caller does not read the result */
  take(stream: Socket, stop: () => void): void {
    this.#stream = stream;
    stream.on('error', () => undefined);
    stream.on('data', (chunk: Buffer) => {
      if (this.#discarding) return;
      if (this.#reply.begun) {
        if (!this.#reply.write(chunk)) this.#wait(stream, stop);
        return;
      }
      this.#held.push(chunk);
      this.#heldBytes += chunk.length;
      if (this.#heldBytes >= maxSmallBytes) this.#begin();
      else this.#soon ??= setTimeout(() => this.#begin(), maxSmallMs);
    });
  }

  /**
   * Reads the rest of the result and drops it. Otherwise the engine would wait to write into the full pipe. An engine
   * that waits does not notice that its query was killed.
   */
  discard(): void {
    this.#discarding = true;
    this.#held = [];
    this.#rest();
    this.#stream?.resume();
  }

  /**
   * Waits until the pipe was read to its end.
   * @throws QueryFailure 210 when the pipe stays open and brings nothing for pipeEndTimeoutMs
   */
  async atEnd(stream: Socket): Promise<void> {
    if (stream.readableEnded || stream.destroyed) return;
    const { pipeEndTimeoutMs } = this.#limits;
    await new Promise<void>((resolve, reject) => {
      let timer = setTimeout(check, pipeEndTimeoutMs);
      let seen = stream.bytesRead;
      const done = () => {
        clearTimeout(timer);
        resolve();
      };
      stream.once('end', done);
      stream.once('close', done);
      function check() {
        if (stream.bytesRead === seen && !stream.isPaused())
          return reject(failure(210, 'NETWORK_ERROR', 'The end of the result did not come'));
        seen = stream.bytesRead;
        timer = setTimeout(check, pipeEndTimeoutMs);
      }
    });
  }

  complete(summary: Summary): void {
    this.#rest();
    // The query may end normally although this process has given up its result.
    if (this.overflow !== undefined) this.#reply.fail(this.overflow);
    else if (this.#discarding) return;
    else if (this.#reply.begun) this.#reply.finish();
    else this.#reply.whole(this.#format, Buffer.concat(this.#held), summary);
  }

  fail(failure: QueryFailure): void {
    this.discard();
    this.#reply.fail(this.overflow ?? failure);
  }

  #begin(): void {
    if (this.#discarding || this.#reply.begun) return;
    this.#rest();
    this.#onBegin();
    this.#reply.begin(this.#format);
    for (const chunk of this.#held) this.#reply.write(chunk);
    this.#held = [];
  }

  #wait(stream: Socket, stop: () => void): void {
    stream.pause();
    const { sendTimeoutMs } = this.#limits;
    this.#stalled = setTimeout(() => {
      this.overflow = failure(209, 'SOCKET_TIMEOUT', `The result was not read for ${sendTimeoutMs} ms`);
      this.discard();
      stop();
    }, sendTimeoutMs);
    this.#reply.onDrain(() => {
      clearTimeout(this.#stalled);
      stream.resume();
    });
  }

  #rest(): void {
    clearTimeout(this.#soon);
    clearTimeout(this.#stalled);
  }
}

/**
 * Runs a SELECT and answers it. A small result is sent whole with its summary, and a larger result is streamed. If the
 * caller aborts, the query is killed in the engine.
 */
export async function select(
  engine: Engine,
  request: QueryRequest,
  statement: Statement & { kind: 'select' },
  reply: Reply,
  signal: AbortSignal,
): Promise<void> {
  const { reads, streams } = engine.slots;
  await reads.enter(signal);
  let slot = reads;
  const format = statement.format ?? request.defaultFormat;
  const outgoing = new Outgoing(reply, format, engine.limits, () => {
    // If a slot for streams is free, a long result moves there. The slot for reads that it had is then free for
    // look-ups.
    if (!streams.tryEnter()) return;
    slot = streams;
    reads.leave();
  });
  try {
    const result = await engine.connections.use(request, false, (connection) =>
      engine.runs.during(
        request.queryId,
        signal,
        (run) => throughPipe(engine, connection, request, statement, run, outgoing),
        () => outgoing.discard(),
      ),
    );
    outgoing.complete(result);
  } catch (error) {
    outgoing.fail(asFailure(error));
  } finally {
    slot.leave();
  }
}

async function throughPipe(
  engine: Engine,
  connection: Connection,
  request: QueryRequest,
  statement: Statement & { kind: 'select' },
  run: Run,
  outgoing: Outgoing,
): Promise<NativeResult> {
  const tail = statement.tail === '' ? `FORMAT ${request.defaultFormat}` : statement.tail;
  const pipe = await engine.pipes.take();
  const clause = `INTO OUTFILE '${pipe}' TRUNCATE COMPRESSION 'none'`;
  const sql = `${run.tag}${statement.body}\n${clause}\n${tail}`;
  const reader = openReader(pipe);
  try {
    outgoing.take(reader.stream, () => void engine.runs.kill(run));
    const result = await engine.native.QueryAsyncConnection(connection, sql, 'Null', request.parameters);
    // `openReader` holds the pipe open with a second descriptor, so that the engine's writes never block. This closes
    // it. Now only the engine holds the pipe open for writing, so the stream ends when the engine closes the pipe.
    reader.release();
    await outgoing.atEnd(reader.stream);
    engine.pipes.giveBack(pipe);
    return result;
  } catch (error) {
    engine.pipes.spoil(pipe);
    throw asFailure(error, [`\n${clause}\n`, clause, run.tag]);
  } finally {
    reader.release();
    reader.stream.destroy();
  }
}
