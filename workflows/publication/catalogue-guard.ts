import { Gauge, type Registry } from 'prom-client';
import { noteHeld } from '../../pipelines/editions/adopt.ts';
import type { EditionArchive } from '../../pipelines/editions/edition-archive.ts';
import { type FreezeResult, freezeEdition } from '../../pipelines/editions/freeze.ts';
import type { Logger } from '../../pipelines/runtime/log.ts';
import type { Pool } from '../../pipelines/runtime/postgres.ts';
import type { CatalogueCheck, CheckScope } from '../../pipelines/stream/catalogue-check.ts';
import { type RegisterName, registerNames } from '../../schemas/registers.ts';
import { differenceOf } from './comparison.ts';

interface GuardDependencies {
  pool: Pool;
  editions: Pick<EditionArchive, 'putMissing'>;
  /** `compareCatalogue` in pipelines/stream/catalogue-check.ts. */
  compare(register: RegisterName, scope: CheckScope): Promise<CatalogueCheck>;
  log: Logger;
  metrics: Registry;
}

/**
 * Keeps a worker from making editions while Kafka or ClickHouse have editions that the catalogue lacks, or ClickHouse
 * lacks editions that the catalogue serves. It remembers what the last check of each register found, for /readyz and
 * the metric. Another process may mend the catalogue, so a register with a problem is checked again at each sweep.
 */
export class CatalogueGuard {
  readonly #dependencies: GuardDependencies;
  readonly #found = new Map<RegisterName, CatalogueCheck>();

  constructor(dependencies: GuardDependencies) {
    this.#dependencies = dependencies;
    const found = this.#found;
    new Gauge({
      name: 'padron_register_lost_editions',
      help: 'Editions that Kafka or ClickHouse has and the catalogue lacks (padron editions adopt)',
      labelNames: ['register'],
      registers: [dependencies.metrics],
      collect() {
        this.reset();
        for (const [register, { newest, edition }] of found) this.set({ register }, newest - edition);
      },
    });
  }

  /** Checks all registers when the worker starts. An engine that does not answer is logged, and asked again later. */
  async start(): Promise<void> {
    const { pool, editions, log } = this.#dependencies;
    for (const register of registerNames) {
      try {
        await this.check(register, 'all');
        await editions.putMissing(pool, register);
      } catch (error) {
        log.warn({ err: error, register }, 'the catalogue could not be compared with Kafka and ClickHouse');
      }
    }
  }

  /** Compares now, and remembers what was found. A new problem is logged once. */
  async check(register: RegisterName, scope: 'kafka' | 'all'): Promise<CatalogueCheck> {
    const { compare, log } = this.#dependencies;
    const found = await compare(register, scope);
    const before = this.#found.get(register)?.problem ?? null;
    if (found.problem !== null && found.problem !== before) log.error({ register, ...found }, found.problem);
    if (found.problem === null && before !== null)
      log.info({ register }, 'catalogue, Kafka and ClickHouse agree again');
    this.#found.set(register, found);
    return found;
  }

  /**
   * Returns why the register may have no new edition now, or null. If the last check found no problem, this check only
   * reads Kafka's offsets: `freeze` will ask ClickHouse too, which takes longer. In all other cases it asks both.
   */
  async problemOf(register: RegisterName): Promise<string | null> {
    const isKnown = this.#found.get(register)?.problem === null;
    return (await this.check(register, isKnown ? 'kafka' : 'all')).problem;
  }

  /** The problems that the last checks found; null if there is none. */
  problem(): string | null {
    const problems = [...this.#found.values()].flatMap(({ problem }) => problem ?? []);
    return problems.length === 0 ? null : problems.join('; ');
  }

  /** Makes an edition if the catalogue still agrees with Kafka and ClickHouse. Else the work keeps waiting (`held`). */
  async freeze(
    register: RegisterName,
    kind: 'publication' | 'correction',
    id: number,
  ): Promise<FreezeResult | { outcome: 'held'; edition: null }> {
    const { pool } = this.#dependencies;
    const { edition, problem } = await this.check(register, 'all');
    if (problem === null) return freezeEdition(pool, register, kind, id, differenceOf, edition);
    await noteHeld(pool, register, problem);
    return { outcome: 'held', edition: null };
  }
}
