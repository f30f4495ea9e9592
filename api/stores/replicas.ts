import type { Holders } from '../../pipelines/editions/served.ts';
import { storeFacts } from '../../pipelines/replicas/store.ts';
import type { ClickHouseClient } from '../../pipelines/runtime/clickhouse.ts';
import type { Logger } from '../../pipelines/runtime/log.ts';
import { passingOf } from '../../pipelines/runtime/passing-errors.ts';
import { defaultReplica } from '../../pipelines/runtime/replica-settings.ts';

export const replicaLimits = {
  /** Pause between two probes of a replica. */
  probeEveryMs: 250,
  /** A replica that answers neither probes nor queries for this long is left, if another one is there. */
  silentMs: 750,
  /** A list of holders that is older is no longer used. It equals `servesMs` of api/catalogue.ts. */
  holdersMs: 60_000,
};

/**
 * Runs work with the client of a ClickHouse server, and repeats it with another server's if the first fails.
 * @param key work with the same key goes to the same server as long as that is possible
 */
export type AskClickhouse = <Answer>(
  key: string,
  work: (clickhouse: ClickHouseClient, replica: string) => Promise<Answer>,
) => Promise<Answer>;

/** Asks the only server. */
export function askOnly(clickhouse: ClickHouseClient): AskClickhouse {
  return (_, work) => work(clickhouse, defaultReplica);
}

/** How often one question is asked at most, of whichever replicas. */
const maxAttempts = 6;

/** Codes of ClickHouse errors of a store without our tables or database. */
const lostStoreCodes = new Set(['60', '81']);

/** One ClickHouse replica, with whatever this process uses to ask it. */
interface Member<Store> {
  name: string;
  store: Store;
  /** The client of the probes. */
  probe: ClickHouseClient;
  /** Null while it answers. */
  fault: string | null;
  /** Id of the store that answered last (`storeFacts`). */
  storeId: string | null;
  answeredAt: number;
  isProbed: boolean;
  /** What a comparison with the catalogue found missing; null if nothing. */
  loss: string | null;
  /** Ends each question that this replica has not answered yet. */
  waiting: Set<(reason: Error) => void>;
}

class ReplicaLeft extends Error {
  override name = 'ReplicaLeft';
}

/**
 * Asks one of several ClickHouse replicas. Only replicas that hold the served editions are asked, and that answered the
 * last probe with the store that the catalogue knows. A question that fails is asked of the next replica, before the
 * caller gets an error. A replica that failed is asked again once a probe succeeds.
 *
 * Questions with the same key go to the same replica as long as the same replicas can be asked. So the several reads of
 * one RUC see one store, and a RUC's answers do not go back while replicas write the same edition at their own pace.
 */
export class ReplicaSet<Store> {
  readonly #members: readonly Member<Store>[];
  readonly #log: Logger;
  readonly #lossOf: (name: string) => Promise<string | null>;
  readonly #limits: typeof replicaLimits;
  #holders: Holders = new Map();
  #holdersReadAt = Number.NEGATIVE_INFINITY;

  /** @param lossOf says what a replica that comes back lacks of the served data, or null. It is a quick look. */
  constructor(
    stores: readonly { name: string; store: Store; probe: ClickHouseClient }[],
    log: Logger,
    lossOf: (name: string) => Promise<string | null> = async () => null,
    limits = replicaLimits,
  ) {
    this.#log = log;
    this.#lossOf = lossOf;
    this.#limits = limits;
    this.#members = stores.map((each) => ({
      ...each,
      fault: 'it was not asked yet',
      storeId: null,
      answeredAt: Number.NEGATIVE_INFINITY,
      isProbed: false,
      loss: null,
      waiting: new Set(),
    }));
  }

  /** Takes what the catalogue says. A read that began before the last one that was taken is out of date. */
  note(holders: Holders, readAt: number): void {
    if (readAt < this.#holdersReadAt) return;
    this.#holders = holders;
    this.#holdersReadAt = readAt;
  }

  /** Probes all replicas, and goes on to do so. Resolves after the first round. Returns a function that ends it. */
  async start(): Promise<() => void> {
    await Promise.all(this.#members.map((member) => this.#probe(member)));
    let last = performance.now();
    const timer = setInterval(() => {
      // After a pause of this process itself, answers may still wait to be read.
      const isLate = performance.now() - last > 2 * this.#limits.probeEveryMs;
      last = performance.now();
      for (const member of this.#members) {
        void this.#probe(member);
        if (!isLate) this.#leaveIfSilent(member);
      }
    }, this.#limits.probeEveryMs);
    return () => clearInterval(timer);
  }

  /**
   * Runs `work` on a replica, and on another one when it fails there.
   * @param key questions with the same key prefer the same replica
   * @throws the last replica's error; Error when no replica can be asked
   */
  async ask<Answer>(key: string, work: (store: Store, name: string) => Promise<Answer>): Promise<Answer> {
    const tried = new Set<Member<Store>>();
    let failure: unknown;
    for (let attempt = 0; attempt < maxAttempts; attempt += 1) {
      const member = this.#choose(key, tried);
      if (member === undefined) break;
      tried.add(member);
      try {
        return await this.#run(member, work);
      } catch (error) {
        failure = error;
        this.#noteFailure(member, error);
        // A replica that was left while it worked says nothing about the question. The others may be back by now.
        if (error instanceof ReplicaLeft) tried.clear();
      }
    }
    throw failure ?? new Error(this.problem() ?? 'no ClickHouse replica can be asked');
  }

  /** Null when at least one replica can be asked; otherwise what is wrong with each. */
  problem(): string | null {
    if (this.#members.some((member) => this.#canBeAsked(member))) return null;
    const reasons = this.#members.map((member) => `${member.name}: ${this.#whyNot(member)}`);
    return `no ClickHouse replica can be asked: ${reasons.join('; ')}`;
  }

  /** The names of the replicas, each with whether it can be asked. */
  states(): { name: string; isAsked: boolean }[] {
    return this.#members.map((member) => ({ name: member.name, isAsked: this.#canBeAsked(member) }));
  }

  /** Whether the catalogue says that the replica holds the served editions. */
  isHolder(name: string): boolean {
    const isFresh = performance.now() - this.#holdersReadAt <= this.#limits.holdersMs;
    return isFresh && this.#holders.has(name);
  }

  /** Takes what a comparison of the replica with the catalogue found. */
  noteLoss(name: string, loss: string | null): void {
    const member = this.#members.find((one) => one.name === name);
    if (member !== undefined) member.loss = loss;
  }

  #canBeAsked(member: Member<Store>): boolean {
    return this.#whyNot(member) === null;
  }

  #whyNot({ name, fault, loss, storeId }: Member<Store>): string | null {
    if (!this.isHolder(name)) return 'it does not hold the served editions';
    if (fault !== null) return fault;
    const known = this.#holders.get(name) ?? null;
    if (known !== null && known !== storeId) return 'its store is a new one';
    return loss;
  }

  /** The replica with the highest hash of key and name, among those that can be asked and were not tried. */
  #choose(key: string, tried: ReadonlySet<Member<Store>>): Member<Store> | undefined {
    let best: Member<Store> | undefined;
    let highest = -1;
    for (const member of this.#members) {
      if (tried.has(member) || !this.#canBeAsked(member)) continue;
      const place = hashOf(`${key} ${member.name}`);
      if (place > highest) [best, highest] = [member, place];
    }
    return best;
  }

  #run<Answer>(member: Member<Store>, work: (store: Store, name: string) => Promise<Answer>): Promise<Answer> {
    return new Promise((resolve, reject) => {
      member.waiting.add(reject);
      work(member.store, member.name)
        .then((answer) => {
          member.answeredAt = performance.now();
          resolve(answer);
        }, reject)
        .finally(() => member.waiting.delete(reject));
    });
  }

  /** A slow answer or an error about one query does not make a replica unfit for others. `#leaveIfSilent` does. */
  #noteFailure(member: Member<Store>, error: unknown): void {
    if (error instanceof ReplicaLeft) return;
    if (passingOf(error) === 'away') this.#leave(member, 'it does not answer');
    if (lostStoreCodes.has(String((error as { code?: unknown }).code))) this.#leave(member, 'it lacks our tables');
  }

  async #probe(member: Member<Store>): Promise<void> {
    if (member.isProbed) return;
    member.isProbed = true;
    try {
      const { id, rows } = await storeFacts(member.probe);
      member.answeredAt = performance.now();
      member.storeId = id;
      if (id === null || rows === 0) return this.#leave(member, 'its tables are empty');
      if (member.fault === null) return;
      // It may come back from an old copy of its disk.
      member.loss = await this.#lossOf(member.name);
      member.answeredAt = performance.now();
      member.fault = null;
      this.#log.info({ replica: member.name, lacks: member.loss }, 'a ClickHouse replica answers');
    } catch (error) {
      this.#noteFailure(member, error);
    } finally {
      member.isProbed = false;
    }
  }

  /**
   * A replica is left for being silent only if another one answered meanwhile. Otherwise it is the machine or the network
   * that is busy, and errors would not help.
   */
  #leaveIfSilent(member: Member<Store>): void {
    const isSilent = (one: Member<Store>) => performance.now() - one.answeredAt >= this.#limits.silentMs;
    if (member.fault !== null || !isSilent(member)) return;
    const another = this.#members.some((one) => one !== member && this.#canBeAsked(one) && !isSilent(one));
    if (another) this.#leave(member, `it is silent for ${this.#limits.silentMs} ms`);
  }

  #leave(member: Member<Store>, why: string): void {
    if (member.fault === null) this.#log.warn({ replica: member.name, why }, 'a ClickHouse replica is left');
    member.fault = why;
    for (const reject of member.waiting) reject(new ReplicaLeft(`the ClickHouse replica ${member.name}: ${why}`));
  }
}

/** FNV-1a with a last mixing step: short texts that differ in few letters get unrelated values below 2^32. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
