import type { Archive } from '../../../pipelines/archive/archive.ts';
import type { Pool, PoolClient } from '../../../pipelines/runtime/postgres.ts';

/**
 * Simulates a process that dies after so many calls to the database and the archive. The last call is carried out, but
 * its answer is never seen, and nothing happens after it, not even a rollback.
 */
export class Fuse {
  #left: number;
  isBlown = false;

  constructor(calls: number) {
    this.#left = calls;
  }

  pool(pool: Pool): Pool {
    return this.#around(pool, ['query'], {
      connect: async () => this.#around(await pool.connect(), ['query'], {}) as PoolClient,
    });
  }

  archive(archive: Archive): Archive {
    return this.#around(archive, ['put', 'size', 'localFile', 'incomingFile', 'discardIncoming'], {});
  }

  #around<Target extends object>(target: Target, counted: readonly string[], replaced: Partial<Target>): Target {
    return new Proxy(target, {
      get: (_target, name) => {
        const own = Reflect.get(replaced, name) as unknown;
        if (own !== undefined) return own;
        const value = Reflect.get(target, name) as unknown;
        if (typeof value !== 'function') return value;
        const call = value.bind(target) as (...given: unknown[]) => unknown;
        return counted.includes(String(name)) ? (...given: unknown[]) => this.#burn(() => call(...given)) : call;
      },
    });
  }

  async #burn(call: () => unknown): Promise<unknown> {
    if (this.isBlown) throw new Error('dead');
    const answer = await call();
    this.#left -= 1;
    if (this.#left >= 0) return answer;
    this.isBlown = true;
    throw new Error('dead');
  }
}
