import { ApplicationFailure } from '@temporalio/common';
import type { PublicationActivities } from '../../../workflows/publication/activities.ts';

type FreezeOutcome = Awaited<ReturnType<PublicationActivities['freezePublication']>>;

/** A publication in the fake catalogue. */
export interface FakePublication {
  id: number;
  /** The step at which the publication ends; null if it becomes an edition. */
  endsAt: 'verify' | 'compare' | 'judge' | null;
  /** The answers of `freezePublication` before it freezes the publication. */
  freezes?: Exclude<FreezeOutcome['outcome'], 'frozen'>[] | undefined;
}

/**
 * Fake activities over a catalogue of a few lines, which record the order of calls, retries and waits. Their type is
 * the real factory's, so an activity that changes its signature breaks them too.
 */
export class FakeSteps {
  readonly calls: string[] = [];
  readonly waiting: FakePublication[] = [];
  /** Orders to undo an edition. */
  readonly corrections: { id: number; endsAt: 'compare' | null; freezes?: FakePublication['freezes'] }[] = [];
  lost: number[] = [];
  /** The editions on their way, and how often each wait answers "not yet". */
  unfinished: { edition: number; notMaterialised: number; notNotified: number }[] = [];
  head = 0;
  waitsPerEdition = { notMaterialised: 0, notNotified: 0 };
  probes: (Error | Awaited<ReturnType<PublicationActivities['probe']>>)[] = [];
  fetches: (Error | Awaited<ReturnType<PublicationActivities['fetchPublication']>>)[] = [];
  /** The answers of the daily check, one per register. */
  checks: (Error | Awaited<ReturnType<PublicationActivities['reconcileRegister']>>)[] = [];
  /** How often a step fails before it succeeds, by its call. */
  readonly failures = new Map<string, number>();
  onNextWork: (() => Promise<void>) | null = null;

  activities(): PublicationActivities {
    return {
      probe: async () => this.#answer('probe', this.probes),
      fetchPublication: async (_register, id) => this.#answer(`fetch ${id}`, this.fetches),
      wakePublish: async () => this.#note('wake'),
      nextWork: async () => {
        await this.onNextWork?.();
        const lost = this.lost[0];
        if (lost !== undefined) return { kind: 'republish', edition: lost };
        const edition = this.unfinished[0]?.edition;
        if (edition !== undefined) return { kind: 'edition', edition };
        const correction = this.corrections[0];
        if (correction !== undefined) return { kind: 'correction', correctionId: correction.id };
        const publication = this.waiting[0];
        return publication === undefined ? { kind: 'none' } : { kind: 'publication', publicationId: publication.id };
      },
      verifyPublication: async (_register, id) => this.#step('verify', id),
      comparePublication: async (_register, id) => this.#step('compare', id),
      judgePublication: async (_register, id) => this.#step('judge', id),
      freezePublication: async (_register, id) => {
        this.#note(`freeze ${id}`);
        return this.#freeze(this.waiting);
      },
      compareCorrection: async (_register, id) => {
        this.#note(`compare correction ${id}`);
        if (this.corrections[0]!.endsAt !== 'compare') return { outcome: 'next' };
        this.corrections.shift();
        return { outcome: 'ended' };
      },
      freezeCorrection: async (_register, id) => {
        this.#note(`freeze correction ${id}`);
        return this.#freeze(this.corrections);
      },
      publishEdition: async (_register, edition, mode) => {
        this.#note(mode === 'again' ? `publish ${edition} again` : `publish ${edition}`);
        if (mode === 'again') this.lost = this.lost.filter((each) => each !== edition);
      },
      awaitMaterialised: async (_register, edition) => {
        this.#note(`materialised ${edition}`);
        return this.unfinished[0]!.notMaterialised-- <= 0;
      },
      awaitNotified: async (_register, edition) => {
        this.#note(`notified ${edition}`);
        if (this.unfinished[0]!.notNotified-- > 0) return false;
        this.unfinished.shift();
        return true;
      },
      reconcileRegister: async (register) => this.#answer(`check ${register}`, this.checks),
    };
  }

  #freeze(waiting: { freezes?: FakePublication['freezes'] }[]): FreezeOutcome {
    const refused = waiting[0]?.freezes?.shift();
    if (refused !== undefined) return { outcome: refused, edition: null };
    waiting.shift();
    this.head += 1;
    this.unfinished.push({ edition: this.head, ...this.waitsPerEdition });
    return { outcome: 'frozen', edition: this.head };
  }

  #step(step: 'verify' | 'compare' | 'judge', id: number): { outcome: 'next' | 'ended' } {
    this.#note(`${step} ${id}`);
    if (this.waiting[0]!.endsAt !== step) return { outcome: 'next' };
    this.waiting.shift();
    return { outcome: 'ended' };
  }

  #note(call: string): void {
    this.calls.push(call);
    const left = this.failures.get(call) ?? 0;
    if (left <= 0) return;
    this.failures.set(call, left - 1);
    throw ApplicationFailure.retryable(`${call} failed`, 'engine_away');
  }

  #answer<Answer>(call: string, answers: (Error | Answer)[]): Answer {
    this.#note(call);
    const answer = answers.shift();
    if (answer === undefined) throw ApplicationFailure.nonRetryable(`no more answers for ${call}`);
    if (answer instanceof Error) throw answer;
    return answer;
  }
}
