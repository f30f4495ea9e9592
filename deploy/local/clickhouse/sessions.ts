import type { Connections } from './connections.ts';
import { setStatement } from './connections.ts';
import { failure } from './errors.ts';
import type { Limits } from './limits.ts';
import type { Connection, Native } from './native.ts';
import type { QueryRequest } from './request.ts';

type Session = { connection: Connection; busy: boolean; expiry: NodeJS.Timeout | undefined; timeoutMs: number };

/** session_id: one engine connection of its own, with its temporary tables and SETs, until it has been idle for its time. */
export class Sessions {
  readonly #native: Native;
  readonly #connections: Connections;
  readonly #limits: Limits;
  readonly #sessions = new Map<string, Session>();

  constructor(native: Native, connections: Connections, limits: Limits) {
    this.#native = native;
    this.#connections = connections;
    this.#limits = limits;
  }

  /** @throws QueryFailure 373 while the session runs another query, 372 when it must exist and does not */
  async use<T>(request: QueryRequest, run: (connection: Connection) => Promise<T>): Promise<T> {
    const session = await this.#lock(request);
    const { connection } = session;
    try {
      if (request.settings.size > 0)
        await this.#native.QueryAsyncConnection(connection, setStatement(request.settings), 'Null');
      return await run(connection);
    } catch (error) {
      // The remains of a failed query would begin the next result; this swallows them.
      await this.#native.QueryAsyncConnection(connection, 'SELECT 1', 'Null').catch(() => undefined);
      throw error;
    } finally {
      await this.#reset(connection, request.settings);
      this.#unlock(request.session!.id, session);
    }
  }

  close(): void {
    for (const id of [...this.#sessions.keys()]) this.#end(id);
  }

  async #lock(request: QueryRequest): Promise<Session> {
    const { id, timeoutMs, mustExist } = request.session!;
    const existing = this.#sessions.get(id);
    if (existing?.busy) throw failure(373, 'SESSION_IS_LOCKED', 'Session is locked by a concurrent client');
    if (existing === undefined && mustExist) throw failure(372, 'SESSION_NOT_FOUND', 'Session not found');
    if (existing === undefined && this.#sessions.size >= this.#limits.maxSessions)
      throw failure(202, 'TOO_MANY_SIMULTANEOUS_QUERIES', `More than ${this.#limits.maxSessions} sessions`);
    const wanted = Math.min(timeoutMs ?? this.#limits.sessionTimeoutMs, this.#limits.maxSessionTimeoutMs);
    const session = existing ?? { connection: undefined!, busy: true, expiry: undefined, timeoutMs: wanted };
    clearTimeout(session.expiry);
    session.busy = true;
    if (existing !== undefined) return existing;
    this.#sessions.set(id, session);
    try {
      session.connection = await this.#connections.open({ database: request.database, settings: new Map() });
      return session;
    } catch (error) {
      this.#sessions.delete(id);
      throw error;
    }
  }

  /** Settings of one request end with it. One that the session had SET itself falls back to the default: see the README. */
  async #reset(connection: Connection, settings: ReadonlyMap<string, string>): Promise<void> {
    for (const name of [...settings.keys()].reverse())
      await this.#native.QueryAsyncConnection(connection, `SET ${name} = DEFAULT`, 'Null').catch(() => undefined);
  }

  #unlock(id: string, session: Session): void {
    session.busy = false;
    session.expiry = setTimeout(() => this.#end(id), session.timeoutMs);
  }

  #end(id: string): void {
    const session = this.#sessions.get(id);
    if (session === undefined || session.busy) return;
    clearTimeout(session.expiry);
    this.#sessions.delete(id);
    this.#connections.drop(session);
  }
}
