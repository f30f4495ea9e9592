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
 * Stores the data of an INSERT in a file, and then inserts the file. The engine would cut data in the SQL text at the
 * first blank line and run the rest as SQL. What is left if the process dies:
 * - during the upload: no rows; the next start removes the file;
 * - between the insert and the answer: the rows. The client repeats the insert, so its tables must allow repeats
 *   (README).
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
 * Stores the whole body and returns the path of its file. If the upload fails, the file is removed and the error is
 * thrown. The connection of a body that is too large stays open, so that the client can get an answer.
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
 * Runs an INSERT … SELECT, or an INSERT that reads its data from a stored file.
 * @param ours the part of `sql` that this process has added; it is removed from the texts of errors
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
    // `InsertRawAsyncConnection` counts the written rows, but cannot bind parameters. So a SET statement sets them on
    // the connection. The connection keeps the parameters, so it is closed after this query.
    const result = await engine.connections.use(request, parameters.size > 0, async (connection) => {
      if (parameters.size > 0) await engine.native.QueryAsyncConnection(connection, setStatement(parameters), 'Null');
      return engine.runs.during(request.queryId, signal, async ({ tag }) => {
        try {
          // The engine stores one block of rows at a time. If the process dies here, rows that fit into one block are
          // all stored or all missing. If the rows fill several blocks, some blocks may be stored and others not.
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
