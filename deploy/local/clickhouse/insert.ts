import type { Incoming } from './body.ts';
import { type NativeInsert, setStatement } from './connections.ts';
import { type Engine, onConnection } from './engine.ts';
import { asFailure, failure, type Reply } from './reply.ts';
import type { QueryRequest } from './request.ts';
import { type Statement, tokens } from './statement.ts';

const nothing = Buffer.alloc(0);

/**
 * Takes the data of an INSERT to disk and then into the table. If the process dies during the upload, nothing was inserted and
 * the file is removed at the next start; if it dies between the engine's insert and the answer, the rows are there and the
 * caller does not know: it inserts again, as its tables allow (README).
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

/** INSERT … SELECT, or an insert from a spooled file: nothing of the text is data. */
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
    // The call that counts rows binds no parameters: they are SET, and the connection is not used again.
    result = await onConnection(engine, request, parameters.size > 0, async (connection) => {
      if (parameters.size > 0) await engine.native.QueryAsyncConnection(connection, setStatement(parameters), 'Null');
      return engine.runs.during(request.queryId, signal, async ({ tag }) => {
        try {
          // If the process dies in here, the rows are there or not, unless they are more than one block of the engine's.
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
 * VALUES with parameters: the engine replaces them only in inline rows, so the text goes to it as it is, after a check that
 * it is a single statement to the end. Its rows are not counted.
 */
export function checkInlineValues(text: string): void {
  let ended = false;
  for (const token of tokens(text)) {
    if (ended) throw failure(62, 'SYNTAX_ERROR', 'Syntax error (Multi-statements are not allowed)');
    ended = token.text === ';';
  }
}
