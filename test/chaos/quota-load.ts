import { setTimeout as sleep } from 'node:timers/promises';
import { type Chain, padron } from '../../deploy/local/demo/chain.ts';
import type { Pool } from '../../pipelines/runtime/postgres.ts';

/** One request that was answered with 200, and when it began and ended (milliseconds since 1970). */
interface Answered {
  beganAt: number;
  endedAt: number;
}

interface Caller {
  account: number;
  token: string;
}

const requestTimeoutMs = 20_000;
const repeatAfterMs = 300;
const unitsPerBatch = 2;

/**
 * Two customers of the API. One asks look-ups at an even rate and never repeats one. The other asks batches under an
 * idempotency key, and repeats each until it is answered, so each must be charged exactly once.
 */
export class QuotaLoad {
  readonly lookUps: Answered[] = [];
  readonly batches: Answered[] = [];
  /** Look-ups that failed, by status; 0 is no answer at all. */
  readonly failures = new Map<number, number>();
  readonly #chain: Chain;
  readonly #rucs: readonly string[];
  readonly #callers: { lookUps: Caller; batches: Caller };
  readonly #pending = new Set<Promise<void>>();
  #isOver = false;

  private constructor(chain: Chain, rucs: readonly string[], callers: { lookUps: Caller; batches: Caller }) {
    this.#chain = chain;
    this.#rucs = rucs;
    this.#callers = callers;
  }

  static async start(chain: Chain, rucs: readonly string[], perSecond: number): Promise<QuotaLoad> {
    const callers = { lookUps: await makeCaller(chain, 'Consultas'), batches: await makeCaller(chain, 'Lotes') };
    const load = new QuotaLoad(chain, rucs, callers);
    load.#every(1_000 / perSecond, (index) => load.#lookUp(rucs[index % rucs.length]!));
    load.#every(500, (index) => load.#batch(index));
    return load;
  }

  /** Ends when every request is answered. */
  async stop(): Promise<void> {
    this.#isOver = true;
    while (this.#pending.size > 0) await Promise.all(this.#pending);
  }

  /** Units that PostgreSQL has charged to both customers. */
  async charged(pool: Pick<Pool, 'query'>): Promise<{ lookUps: number; batches: number }> {
    const { rows } = await pool.query<{ account_id: number; used: number }>(
      'SELECT account_id, sum(used)::int AS used FROM quota_month GROUP BY account_id',
    );
    const of = ({ account }: Caller) => rows.find(({ account_id }) => account_id === account)?.used ?? 0;
    return { lookUps: of(this.#callers.lookUps), batches: of(this.#callers.batches) / unitsPerBatch };
  }

  #every(ms: number, ask: (index: number) => Promise<void>): void {
    const began = performance.now();
    const asking = async () => {
      for (let index = 0; !this.#isOver; index += 1) {
        const asked: Promise<void> = ask(index).finally(() => this.#pending.delete(asked));
        this.#pending.add(asked);
        await sleep(Math.max(0, began + (index + 1) * ms - performance.now()));
      }
    };
    const all: Promise<void> = asking().finally(() => this.#pending.delete(all));
    this.#pending.add(all);
  }

  async #lookUp(ruc: string): Promise<void> {
    const beganAt = Date.now();
    const status = await this.#ask(this.#callers.lookUps, `/id/v1/ruc/${ruc}`);
    if (status === 200) this.lookUps.push({ beganAt, endedAt: Date.now() });
    else this.failures.set(status, (this.failures.get(status) ?? 0) + 1);
  }

  async #batch(index: number): Promise<void> {
    const rucs = Array.from({ length: unitsPerBatch }, (_, at) => this.#rucs[(index + at) % this.#rucs.length]!);
    for (;;) {
      const beganAt = Date.now();
      const status = await this.#ask(this.#callers.batches, '/id/v1/ruc/batch', {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'idempotency-key': `lote-${index}` },
        body: JSON.stringify({ rucs }),
      });
      if (status === 200) {
        this.batches.push({ beganAt, endedAt: Date.now() });
        return;
      }
      await sleep(repeatAfterMs);
    }
  }

  /** Returns the status, or 0 when no answer came. */
  async #ask({ token }: Caller, target: string, request: RequestInit = {}): Promise<number> {
    try {
      const response = await fetch(`${this.#chain.product.apiUrl}${target}`, {
        ...request,
        headers: { authorization: `Bearer ${token}`, ...request.headers },
        signal: AbortSignal.timeout(requestTimeoutMs),
      });
      await response.arrayBuffer();
      return response.status;
    } catch {
      return 0;
    }
  }
}

async function makeCaller({ environment }: Chain, name: string): Promise<Caller> {
  const plan = ['--plan', 'empresa'];
  const { id: account } = await padron<{ id: number }>(['accounts', 'create', '--name', name, ...plan], environment);
  const { token } = await padron<{ token: string }>(['tokens', 'create', '--account', String(account)], environment);
  return { account, token };
}
