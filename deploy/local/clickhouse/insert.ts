import { randomUUID } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import path from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { chunksOf, type Incoming } from './body.ts';
import { setStatement } from './connections.ts';
import type { Engine } from './engine.ts';
import { asFailure, failure, type Reply } from './reply.ts';
import type { QueryRequest } from './request.ts';
import type { Statement } from './statement.ts';

/**
 * Stores the data of an INSERT on disk and then inserts them, because the engine would cut inline data at the first
 * blank line and run the rest as SQL. If the process dies during the upload, nothing is inserted and the next start
 * removes the file. If it dies between the insert and the answer, the rows are there but the client does not know it.
 * The client then inserts the same rows again, and its tables must allow that (README).
 */
export async function insertData(
  engine: Engine,
  request: QueryRequest,
  statement: Statement & { kind: 'insert-data' },
  { head, rest }: Incoming,
  reply: Reply,
  signal: AbortSignal,
): Promise<void> {
  if (statement.format === 'Values' && Object.keys(request.parameters).length > 0)
    throw failure(48, 'NOT_IMPLEMENTED', 'VALUES with parameters is not supported by the embedded server: use SELECT');
  await engine.slots.uploads.enter(signal);
  let file: string;
  try {
    file = await storeBody(engine, head, rest);
  } finally {
    engine.slots.uploads.leave();
  }
  const from = `FROM INFILE '${file}' COMPRESSION 'none'`;
  try {
    const sql = `${statement.head} ${from} ${statement.settings} FORMAT ${statement.format}`;
    await insert(engine, request, sql, from, reply, signal);
  } finally {
    await rm(file, { force: true });
  }
}

/**
 * Stores the whole body and returns the path of its file. When the upload fails (cut connection, too many bytes), the
 * file is removed and the error is thrown, so half a body is never inserted. A body that is too large is left open, so
 * that the client can still get an answer.
 */
async function storeBody({ spool, limits }: Engine, head: Uint8Array, body: Readable): Promise<string> {
  const { maxBodyBytes, uploadIdleTimeoutMs } = limits;
  const file = path.join(spool, `body-${randomUUID()}`);
  async function* limited(): AsyncGenerator<Uint8Array> {
    let bytes = head.length;
    if (bytes > 0) yield head;
    for await (const chunk of chunksOf(body, uploadIdleTimeoutMs)) {
      bytes += chunk.length;
      if (bytes > maxBodyBytes)
        throw failure(307, 'TOO_MANY_BYTES', `The insert body is larger than ${maxBodyBytes} bytes`);
      yield chunk;
    }
  }
  try {
    await pipeline(limited, createWriteStream(file, { mode: 0o600, highWaterMark: 1_048_576 }));
    return file;
  } catch (error) {
    await rm(file, { force: true });
    throw error;
  }
}

/**
 * Runs an INSERT … SELECT, or an INSERT that reads its data from a stored file. `ours` is the part of `sql` that this
 * process has added. It is removed from the texts of errors.
 */
export async function insert(
  engine: Engine,
  request: QueryRequest,
  sql: string,
  ours: string,
  reply: Reply,
  signal: AbortSignal,
): Promise<void> {
  const { writes } = engine.slots;
  await writes.enter(signal);
  const parameters = new Map(Object.entries(request.parameters).map(([name, value]) => [`param_${name}`, value]));
  try {
    // `InsertRawAsyncConnection`, the engine's call that counts the written rows, cannot bind parameters. So a SET
    // statement gives them to the connection. The connection would keep them, so no other query uses it.
    const result = await engine.connections.use(request, parameters.size > 0, async (connection) => {
      if (parameters.size > 0) await engine.native.QueryAsyncConnection(connection, setStatement(parameters), 'Null');
      return engine.runs.during(request.queryId, signal, async ({ tag }) => {
        try {
          // If the process dies here, either all rows are stored or none, unless they fill several engine blocks. Then
          // some blocks may be stored and others not.
          return await engine.native.InsertRawAsyncConnection(connection, `${tag}${sql}`, Buffer.alloc(0), false);
        } catch (error) {
          throw asFailure(error, [ours, tag]);
        }
      });
    });
    const { rowsWritten: rowsRead, bytesWritten: bytesRead } = result;
    reply.whole(request.defaultFormat, Buffer.alloc(0), { ...result, rowsRead, bytesRead });
  } finally {
    writes.leave();
  }
}
