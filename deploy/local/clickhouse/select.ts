import type { Engine } from './engine.ts';
import { onConnection } from './engine.ts';
import { asFailure } from './errors.ts';
import type { Connection, NativeResult } from './native.ts';
import { Outgoing } from './outgoing.ts';
import { openReader } from './pipes.ts';
import type { Reply } from './reply.ts';
import type { QueryRequest } from './request.ts';
import type { Run } from './runs.ts';
import type { Statement } from './statement.ts';

/**
 * Runs a SELECT and answers it: whole with its summary while the result is small, streamed otherwise. An abort of the caller kills
 * the query in the engine.
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
    // A long result leaves its slot to look-ups, if there is room among the streams.
    if (!streams.tryEnter()) return;
    slot = streams;
    reads.leave();
  });
  try {
    const result = await onConnection(engine, request, false, (connection) =>
      engine.runs.during(
        request.queryId,
        signal,
        (run) => throughPipe(engine, connection, request, statement, run, outgoing),
        () => outgoing.discard(),
      ),
    );
    outgoing.complete(summaryOf(result));
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
    // From here on only the engine could still hold the pipe; that it ends shows that it does not.
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

const summaryOf = ({ rowsRead, bytesRead, elapsed }: NativeResult) => ({
  readRows: rowsRead,
  readBytes: bytesRead,
  writtenRows: 0,
  writtenBytes: 0,
  elapsedS: elapsed,
});
