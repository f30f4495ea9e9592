import type { Incoming } from './body.ts';
import { type NativeInsert, setStatement } from './connections.ts';
import { type Engine, onConnection } from './engine.ts';
import { asFailure, failure, type Reply } from './reply.ts';
import type { QueryRequest } from './request.ts';
import { type Statement, tokens } from './statement.ts';

const nothing = Buffer.alloc(0);

/**
 * Stores the data of an INSERT on disk and then inserts them. If the process dies during the upload, nothing is
 * inserted and the next start removes the file. If it dies between the insert and the answer, the rows are there but
 * the client does not know it. The client inserts them again, and its tables must allow that (README).
 */
export async function insertData(
  engine: Engine,
  request: QueryRequest,
  statement: Statement & { kind: 'insert-data' },
  incoming: Incoming,
  reply: Reply,
  signal: AbortSignal,
): Promise<void> {
  await engine.slots.uploads.enter(signal);
  let file: string;
  try {
    file = await engine.spool.store(incoming.data.head, incoming.data.rest);
  } finally {
    engine.slots.uploads.leave();
  }
  const from = `FROM INFILE '${file}' COMPRESSION 'none'`;
  try {
    const sql = `${statement.head} ${from} ${statement.settings} FORMAT ${statement.format}`;
    await insert(engine, request, sql, from, reply, signal);
  } finally {
    await engine.spool.remove(file);
  }
}

/** Runs an INSERT … SELECT or an insert from a stored body; `sql` has no data. Errors do not quote its part `ours`. */
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
  let result: NativeInsert;
  try {
    // The call that counts rows cannot bind parameters. They are SET instead, and the connection is not used again.
    result = await onConnection(engine, request, parameters.size > 0, async (connection) => {
      if (parameters.size > 0) await engine.native.QueryAsyncConnection(connection, setStatement(parameters), 'Null');
      return engine.runs.during(request.queryId, signal, async ({ tag }) => {
        try {
          // If the process dies here, all rows are stored or none. Of several engine blocks, perhaps only some are.
          return await engine.native.InsertRawAsyncConnection(connection, `${tag}${sql}`, nothing, false);
        } catch (error) {
          throw asFailure(error, [ours, tag]);
        }
      });
    });
  } finally {
    writes.leave();
  }
  const { rowsWritten, bytesWritten, elapsed } = result;
  const summary = {
    readRows: rowsWritten,
    readBytes: bytesWritten,
    writtenRows: rowsWritten,
    writtenBytes: bytesWritten,
  };
  reply.whole(request.defaultFormat, nothing, { ...summary, elapsedS: elapsed });
}

/**
 * Checks that an INSERT … VALUES with parameters is one statement. The engine binds parameters only in inline rows, so
 * it gets the text unchanged and would also run a second statement. The rows of such an insert are not counted.
 * @throws QueryFailure 62
 */
export function checkInlineValues(text: string): void {
  let ended = false;
  for (const token of tokens(text)) {
    if (ended) throw failure(62, 'SYNTAX_ERROR', 'Syntax error (Multi-statements are not allowed)');
    ended = token.text === ';';
  }
}
