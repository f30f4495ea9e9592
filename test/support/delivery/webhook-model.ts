/** A model of a webhook's state, written from the contract alone. Times are hours since the start. */

export type ModelOutcome = 'accepted' | 'failed' | 'gone' | 'unknown';
export type ModelCommand =
  | { type: 'announce' }
  /**
   * A round sends all due deliveries; `outcomes` take turns. `meanwhile` happens between sending and recording results.
   */
  | { type: 'round'; outcomes: readonly ModelOutcome[]; meanwhile: 'nothing' | 'pause' | 'resume' | 'delete' }
  | { type: 'pause' | 'resume' | 'delete' }
  | { type: 'rotate'; graceHours: number }
  | { type: 'wait'; hours: number };

export const modelRule = { failures: 4, firstFailureHours: 12, attempts: 3, retryHours: 1, leaseHours: 1 };

interface ModelDelivery {
  estado: 'pendiente' | 'en_curso' | 'entregada' | 'agotada' | 'retenida' | 'cancelada';
  failuresOfCycle: number;
  dueAt: number;
}

export class WebhookModel {
  now = 0;
  deleted = false;
  cause: string | null = null;
  failures = 0;
  firstFailureAt: number | null = null;
  readonly deliveries: ModelDelivery[] = [];
  /** When each secret stops signing, newest first; null: never. */
  secrets: (number | null)[] = [null];
  readonly notices: string[] = [];
  #warned = new Set<number>();

  apply(command: ModelCommand): void {
    if (command.type === 'announce') this.#announce();
    else if (command.type === 'round') this.#round(command.outcomes, command.meanwhile);
    else if (command.type === 'pause') this.#pause('cliente');
    else if (command.type === 'resume') this.#resume();
    else if (command.type === 'rotate') this.#rotate(command.graceHours);
    else if (command.type === 'wait') this.#wait(command.hours);
    else this.#delete();
  }

  #announce(): void {
    if (!this.deleted) this.deliveries.push({ estado: this.#fresh(), failuresOfCycle: 0, dueAt: this.now });
  }

  #wait(hours: number): void {
    this.now += hours;
    this.secrets = this.secrets.filter((until) => until === null || until > this.now);
  }

  #round(outcomes: readonly ModelOutcome[], meanwhile: 'nothing' | 'pause' | 'resume' | 'delete'): void {
    // A paused webhook holds the deliveries that a dead worker had in flight; nobody sends them again.
    if (this.cause !== null && !this.deleted) {
      for (const each of this.deliveries) if (each.estado === 'en_curso' && this.#isDue(each)) each.estado = 'retenida';
    }
    const sent = this.deleted || this.cause !== null ? [] : this.deliveries.filter((each) => this.#isDue(each));
    for (const delivery of sent)
      Object.assign(delivery, { estado: 'en_curso', dueAt: this.now + modelRule.leaseHours });
    if (meanwhile !== 'nothing') this.apply({ type: meanwhile });
    const known = sent
      .map((delivery, index) => ({ delivery, outcome: outcomes[index % outcomes.length]! }))
      .filter(({ outcome }) => outcome !== 'unknown');
    for (const { delivery, outcome } of known) this.#end(delivery, outcome === 'accepted');
    if (!this.deleted && known.length > 0) this.#judge(known.map(({ outcome }) => outcome));
  }

  #isDue({ estado, dueAt }: ModelDelivery): boolean {
    return (estado === 'pendiente' || estado === 'en_curso') && dueAt <= this.now;
  }

  #end(delivery: ModelDelivery, accepted: boolean): void {
    if (accepted) {
      delivery.estado = 'entregada';
      return;
    }
    delivery.failuresOfCycle += 1;
    if (this.deleted) delivery.estado = 'cancelada';
    else if (delivery.failuresOfCycle >= modelRule.attempts) delivery.estado = 'agotada';
    else Object.assign(delivery, { estado: this.#fresh(), dueAt: this.now + modelRule.retryHours });
  }

  #judge(outcomes: readonly ModelOutcome[]): void {
    for (const outcome of outcomes) {
      this.failures = outcome === 'accepted' ? 0 : this.failures + 1;
      if (outcome === 'accepted') this.firstFailureAt = null;
      else if (this.firstFailureAt === null) {
        this.firstFailureAt = this.now;
        this.#warned.clear();
      }
    }
    if (this.cause !== null) return;
    const age = this.firstFailureAt === null ? 0 : (this.now - this.firstFailureAt) / modelRule.firstFailureHours;
    const share = Math.min(this.failures / modelRule.failures, age);
    if (outcomes.includes('gone')) this.#pause('respuesta_410');
    else if (share >= 1) this.#pause('fallos');
    else if (share >= 0.5) this.#warn(share >= 0.9 ? 90 : 50);
  }

  #warn(percent: number): void {
    if (this.#warned.has(percent)) return;
    this.#warned.add(percent);
    this.notices.push(`webhook.por_pausar ${percent}`);
  }

  #pause(cause: string): void {
    if (this.deleted || this.cause !== null) return;
    this.cause = cause;
    this.#move('pendiente', 'retenida');
    this.notices.push(`webhook.pausado ${cause}`);
  }

  #resume(): void {
    if (this.deleted || this.cause === null) return;
    this.cause = null;
    this.failures = 0;
    this.firstFailureAt = null;
    for (const delivery of this.deliveries.filter(({ estado }) => estado === 'retenida')) {
      Object.assign(delivery, { estado: 'pendiente', failuresOfCycle: 0, dueAt: this.now });
    }
    this.notices.push('webhook.reanudado');
  }

  #delete(): void {
    if (this.deleted) return;
    this.deleted = true;
    for (const estado of ['pendiente', 'en_curso', 'retenida'] as const) this.#move(estado, 'cancelada');
  }

  #rotate(graceHours: number): void {
    if (this.deleted) return;
    const until = this.now + graceHours;
    const older = this.secrets.map((each) => (each === null ? until : Math.min(each, until)));
    this.secrets = [null, ...older.filter((each) => each > this.now)].slice(0, 3);
  }

  #fresh(): 'pendiente' | 'retenida' {
    return this.cause === null ? 'pendiente' : 'retenida';
  }

  #move(from: ModelDelivery['estado'], to: ModelDelivery['estado']): void {
    for (const delivery of this.deliveries) if (delivery.estado === from) delivery.estado = to;
  }
}
