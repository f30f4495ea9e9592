import { type Engine, onConnection } from './engine.ts';
import { asFailure } from './errors.ts';
import type { Reply } from './reply.ts';
import type { QueryRequest } from './request.ts';
import type { Slots } from './slots.ts';
import type { Statement } from './statement.ts';
import { tokens } from './tokens.ts';

/** DDL, SHOW, EXPLAIN, SET and whatever else has a short result or none, or one that is to be held until it is whole. */
export async function command(
  engine: Engine,
  request: QueryRequest,
  about: { text: string; format: string | undefined; changesConnection: boolean },
  reply: Reply,
  signal: AbortSignal,
  slots: Slots = engine.slots.commands,
): Promise<void> {
  await slots.enter(signal);
  const format = about.format ?? request.defaultFormat;
  try {
    const result = await onConnection(engine, request, about.changesConnection, async (connection) => {
      const { runs, native } = engine;
      return runs.during(request.queryId, signal, async ({ tag }) => {
        try {
          return await native.QueryAsyncConnection(connection, `${tag}${about.text}`, format, request.parameters);
        } catch (error) {
          throw asFailure(error, [tag]);
        }
      });
    });
    const { rowsRead, bytesRead, elapsed } = result;
    const summary = { readRows: rowsRead, readBytes: bytesRead, writtenRows: 0, writtenBytes: 0, elapsedS: elapsed };
    reply.whole(format, result.bytes, summary);
  } finally {
    slots.leave();
  }
}

/**
 * A SELECT whose caller waits for its end: the engine gives the whole result at once, which spares the way through a pipe.
 * @throws QueryFailure 396 when it is larger than maxHeldResultBytes in the engine's memory
 */
export async function heldSelect(
  engine: Engine,
  request: QueryRequest,
  statement: Statement & { kind: 'select' },
  reply: Reply,
  signal: AbortSignal,
): Promise<void> {
  const limits = new Map([
    ['max_result_bytes', String(engine.limits.maxHeldResultBytes)],
    ['result_overflow_mode', 'throw'],
  ]);
  const limited = { ...request, settings: new Map([...limits, ...request.settings]) };
  const text = `${statement.body}\n${statement.tail}`;
  const about = { text, format: statement.format, changesConnection: false };
  await command(engine, limited, about, reply, signal, engine.slots.reads);
}

/** Needs no slot: when all are taken is when queries must be killed. */
export async function killQuery(engine: Engine, request: QueryRequest, text: string, reply: Reply): Promise<void> {
  const format = request.defaultFormat;
  try {
    const bytes = await engine.runs.ask(engine.runs.rewriteKill(text, tokens(text)), format, request.parameters);
    reply.whole(format, bytes, { readRows: 0, readBytes: 0, writtenRows: 0, writtenBytes: 0, elapsedS: 0 });
  } catch (error) {
    throw asFailure(error);
  }
}
