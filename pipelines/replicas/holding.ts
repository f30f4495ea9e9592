import { setTimeout as sleep } from 'node:timers/promises';
import { changesTopic, type RegisterName, registerNames } from '../../schemas/registers.ts';
import type { ClickHouseClient, ReplicaServer } from '../runtime/clickhouse.ts';
import type { Logger } from '../runtime/log.ts';
import type { Pool } from '../runtime/postgres.ts';
import type { StreamOffsets } from '../stream/kafka.ts';
import { checkMaterialised } from '../stream/progress.ts';
import { materializeGroup } from '../stream/topics.ts';
import { moveReplica, type Replica, type ReplicaState, readHolders, readReplicas, recordHeld } from './catalogue.ts';
import { storeFacts } from './store.ts';

export interface ReplicaClient extends ReplicaServer {
  clickhouse: ClickHouseClient;
}

export interface HoldingDependencies {
  pool: Pool;
  offsets: StreamOffsets;
  prefix: string;
  replicas: readonly ReplicaClient[];
  log: Logger;
  limits: HoldingLimits;
}

export interface HoldingLimits {
  /** How long an edition, once a first replica holds it, waits for the others. Then it is served without them. */
  waitMs: number;
  /** A replica that answers nothing for this long stops serving. */
  silentMs: number;
  /** A question about a store that takes longer counts as no answer. */
  answerMs: number;
}

export const holdingLimits = { silentMs: 10_000, answerMs: 3_000 };

/**
 * Finds out which ClickHouse replicas hold which editions, and decides which of them the API may ask. Every worker
 * process runs this; they take the same decisions, and each is one statement that may be repeated.
 */
export class Holding {
  readonly #dependencies: HoldingDependencies;
  readonly #checks = new Map<string, Promise<void>>();
  /** Why a replica's rows of an edition could not be counted, or are too few or too many. */
  readonly #failures = new Map<string, Error>();
  readonly #answeredAt = new Map<string, number>();
  /** The ends of the topics when a replica was found joining. */
  readonly #joining = new Map<string, { since: number; ends: Ends }>();

  constructor(dependencies: HoldingDependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * Whether the edition may be served: all replicas that serve hold it, or the first one has held it for `waitMs`. Then
   * the others are stopped first. If the process dies between the two, the repeat decides the same.
   * @throws StreamError `materialised_count_differs` if no replica holds it and the rows of one are wrong
   */
  async isMaterialised(register: RegisterName, edition: number): Promise<boolean> {
    const { pool, limits, log } = this.#dependencies;
    const replicas = await readReplicas(pool);
    for (const replica of replicas) this.#check(replica, register, edition);
    // A short wait, so that the check of a healthy replica is usually over when the holders are read.
    await Promise.race([Promise.all(this.#checks.values()), sleep(limits.answerMs)]);
    const { holders, behind, heldForMs } = await readHolders(pool, register, edition);
    if (holders.length === 0) {
      const failure = replicas.map(({ name }) => this.#failures.get(keyOf(name, register, edition))).find(Boolean);
      if (failure !== undefined) throw failure;
      return false;
    }
    if (behind.length > 0 && heldForMs < limits.waitMs) return false;
    for (const name of behind) {
      log.error({ replica: name, register, edition }, 'a replica is behind: the edition is served without it');
      await moveReplica(pool, name, 'stopped', `it lacks edition ${edition} of ${register}`);
    }
    return true;
  }

  /** The replicas that the API may ask now and that answer. @throws Error when none does */
  async serving(): Promise<[ReplicaClient, ...ReplicaClient[]]> {
    const found: ReplicaClient[] = [];
    for (const replica of await readReplicas(this.#dependencies.pool)) {
      if (replica.state !== 'serving' || Object.keys(replica.behind).length > 0) continue;
      const client = this.#clientOf(replica.name);
      if (client !== undefined && (await this.#hasItsStore(replica, client))) found.push(client);
    }
    const [first, ...others] = found;
    if (first === undefined) throw new Error('no ClickHouse replica serves: `npx padron registers` shows why');
    return [first, ...others];
  }

  /**
   * Looks at every replica once. If the process dies between the commit of a consumer and the record here, the next
   * round finds the same: what a replica holds is always counted from its group's offsets and its rows.
   */
  async round(): Promise<void> {
    const { pool } = this.#dependencies;
    for (const replica of await readReplicas(pool)) {
      const next = await this.#nextState(replica);
      if (next.state === replica.state && next.reason === replica.reason) continue;
      await moveReplica(pool, replica.name, next.state, next.reason);
      if (next.state !== replica.state)
        this.#dependencies.log.info({ replica: replica.name, ...next, was: replica.state }, 'a replica changes state');
    }
  }

  async #nextState(replica: Replica): Promise<{ state: ReplicaState; reason: string | null }> {
    const { limits } = this.#dependencies;
    const stopped = (reason: string) => ({ state: 'stopped' as const, reason });
    const client = this.#clientOf(replica.name);
    if (client === undefined) return stopped('this worker has no address of it: set CLICKHOUSE_REPLICAS');
    if (replica.store === null && replica.state !== 'serving')
      return stopped('no consumers process of it has started yet');
    const facts = await this.#factsOf(client);
    if (facts === null) {
      const silentMs = Date.now() - this.#answeredAt.get(replica.name)!;
      if (replica.state === 'serving' && silentMs < limits.silentMs) return replica;
      return stopped('it does not answer');
    }
    if (replica.store !== null && facts.id !== replica.store)
      return stopped('its store is a new one: run `npx padron migrate` and restart its consumers');
    for (const [register, { served }] of Object.entries(replica.behind))
      this.#check(replica, register as RegisterName, served);
    if (Object.keys(replica.behind).length > 0) return stopped(this.#behindText(replica));
    if (replica.state === 'serving') return { state: 'serving', reason: null };
    return await this.#joiningState(replica);
  }

  /**
   * A replica joins when it has read its topics to the end. From then on every new notice waits for it. It serves when it
   * has also read what was written until then, because notices may have left of that.
   */
  async #joiningState({ name, state, state_at }: Replica): Promise<{ state: ReplicaState; reason: string | null }> {
    const known = this.#joining.get(name);
    const ends = await this.#ends();
    const committed = await this.#committed(name);
    const since = state_at.getTime();
    if (state !== 'joining') {
      if (isPast(committed, ends)) return { state: 'joining', reason: null };
      return { state: 'stopped', reason: 'it still reads its topics' };
    }
    // The ends were read after the replica became `joining`, because this round read that state before.
    if (known?.since !== since) this.#joining.set(name, { since, ends });
    const isServing = isPast(committed, known?.since === since ? known.ends : ends);
    return { state: isServing ? 'serving' : 'joining', reason: null };
  }

  /** Counts a replica's rows of an edition in the background, unless that runs already. */
  #check(replica: Replica, register: RegisterName, edition: number): void {
    const { pool, offsets, prefix } = this.#dependencies;
    const client = this.#clientOf(replica.name);
    const key = keyOf(replica.name, register, edition);
    // A group without a store may have been fed to another store. Only the server of an installation that had one has
    // none while it serves.
    const isKnown = replica.store !== null || replica.state === 'serving';
    if (client === undefined || !isKnown || this.#checks.has(key)) return;
    const count = async () => {
      const parts = { pool, offsets, prefix, clickhouse: client.clickhouse, replica: replica.name };
      if ((await checkMaterialised(parts, register, edition)) === 'not_yet') return;
      if (!(await this.#hasItsStore(replica, client))) return;
      await recordHeld(pool, replica, register, edition);
    };
    const check = count()
      .then(
        () => void this.#failures.delete(key),
        (error: Error) => this.#noteFailure(key, replica.name, error),
      )
      .finally(() => this.#checks.delete(key));
    this.#checks.set(key, check);
  }

  #noteFailure(key: string, replica: string, error: Error): void {
    if (this.#failures.get(key)?.message !== error.message)
      this.#dependencies.log.warn({ err: error, replica }, 'the rows of a replica could not be counted');
    this.#failures.set(key, error);
  }

  async #hasItsStore(replica: Replica, client: ReplicaClient): Promise<boolean> {
    const facts = await this.#factsOf(client);
    return facts !== null && facts.id !== null && (replica.store === null || facts.id === replica.store);
  }

  async #factsOf({ name, clickhouse }: ReplicaClient) {
    if (!this.#answeredAt.has(name)) this.#answeredAt.set(name, Date.now());
    const asked = storeFacts(clickhouse).catch(() => null);
    const facts = await Promise.race([asked, sleep(this.#dependencies.limits.answerMs, null)]);
    if (facts !== null) this.#answeredAt.set(name, Date.now());
    return facts;
  }

  #behindText({ name, behind }: Replica): string {
    const texts = Object.entries(behind).map(([register, { holds, served }]) => {
      const failure = this.#failures.get(keyOf(name, register as RegisterName, served));
      return failure?.message ?? `it has edition ${holds} of ${register}, and ${served} is served`;
    });
    return texts.join('; ');
  }

  #clientOf(name: string): ReplicaClient | undefined {
    return this.#dependencies.replicas.find((one) => one.name === name);
  }

  async #ends(): Promise<Ends> {
    const { offsets, prefix } = this.#dependencies;
    return Promise.all(registerNames.map((register) => offsets.ends(changesTopic(prefix, register))));
  }

  async #committed(replica: string): Promise<Ends> {
    const { offsets, prefix } = this.#dependencies;
    const group = materializeGroup(prefix, replica);
    return Promise.all(registerNames.map((register) => offsets.committed(group, changesTopic(prefix, register))));
  }
}

/** An offset for each register and partition. */
type Ends = readonly (readonly number[])[];

function isPast(committed: Ends, ends: Ends): boolean {
  return ends.every((parts, at) => parts.every((end, partition) => (committed[at]![partition] ?? 0) >= end));
}

function keyOf(replica: string, register: RegisterName, edition: number): string {
  return `${replica} ${register} ${edition}`;
}
