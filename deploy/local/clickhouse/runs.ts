import { setTimeout as sleep } from 'node:timers/promises';
import type { Connections } from './connections.ts';
import type { Native } from './native.ts';

/** One query in the engine. The engine chooses its own query ids, so ours stands in a comment before the text. */
export type Run = { queryId: string; tag: string; killed: boolean };

const tagStart = '/*query_id=';
/** In SQL: the caller's query id of a row of system.processes. */
const idOfProcess = `extract(query, '^/\\\\*query_id=([^;]*);')`;

/** The queries in the engine, by the caller's id, and the way to stop them. */
export class Runs {
  readonly #native: Native;
  readonly #connections: Connections;
  readonly #killRepeatMs: number;
  readonly #running = new Set<Run>();
  #count = 0;

  constructor(native: Native, connections: Connections, killRepeatMs: number) {
    this.#native = native;
    this.#connections = connections;
    this.#killRepeatMs = killRepeatMs;
  }

  get running(): ReadonlySet<Run> {
    return this.#running;
  }

  begin(queryId: string): Run {
    this.#count += 1;
    // Characters that could end the comment never reach it.
    const safeId = queryId.replace(/[^A-Za-z0-9_.:-]/g, '_').slice(0, 200);
    const started = { queryId, tag: `${tagStart}${safeId};${this.#count}*/`, killed: false };
    this.#running.add(started);
    return started;
  }

  end(run: Run): void {
    this.#running.delete(run);
  }

  /** Asks the engine to stop the query, again and again until it has ended: it may not have begun there yet. */
  async kill(run: Run): Promise<void> {
    if (run.killed) return;
    run.killed = true;
    while (this.#running.has(run)) {
      await this.ask(`KILL QUERY WHERE startsWith(query, '${run.tag}') ASYNC`).catch(() => undefined);
      await sleep(this.#killRepeatMs);
    }
  }

  /** On a fresh connection, in no slot: a kill must get through when everything is taken. */
  async ask(sql: string, format = 'TabSeparated', parameters: Record<string, string> = {}): Promise<Buffer> {
    const connection = await this.#connections.open({ database: 'system', settings: new Map() });
    try {
      return (await this.#native.QueryAsyncConnection(connection, sql, format, parameters)).bytes;
    } finally {
      this.#connections.drop({ connection });
    }
  }

  /** The caller's KILL QUERY, in terms of the caller's ids; never SYNC, which does not return in the embedded engine. */
  rewriteKill(text: string, words: Iterable<{ text: string; start: number; end: number }>): string {
    let out = '';
    let at = 0;
    for (const token of words) {
      const word = token.text.toLowerCase();
      if (!['query_id', '`query_id`', '"query_id"', 'sync', 'async'].includes(word)) continue;
      out += text.slice(at, token.start) + (word.endsWith('sync') ? '' : idOfProcess);
      at = token.end;
    }
    // The killing query itself names the id too, but carries no tag.
    return `${out}${text.slice(at)} ASYNC`;
  }
}
