/**
 * Decides when a gathered batch of look-ups is sent. While no query runs, a batch leaves with the next turn of the event
 * loop: a lone look-up waits for nobody. While one runs, look-ups gather until it ends or until they have waited `waitMs`
 * and a place is free.
 */
export interface BatchGate {
  /** For DataLoader's batchScheduleFn: called once per new batch with what sends it. */
  schedule(send: () => void): void;
  /** Wraps the query of a batch, so that the gate knows when its place is free again. */
  during<Result>(query: () => Promise<Result>): Promise<Result>;
}

export function makeBatchGate(limits: { waitMs: number; inFlight: number }): BatchGate {
  const gathered: { send: () => void; since: number }[] = [];
  let running = 0;

  const sendNext = () => {
    const batch = gathered.shift();
    if (batch === undefined) return;
    // The query starts inside send(), by way of during(); counting there would let two batches pass in one turn.
    running += 1;
    batch.send();
  };
  const sendDue = () => {
    while (gathered.length > 0 && running < limits.inFlight) {
      const waited = performance.now() - gathered[0]!.since;
      // More than one gathered batch: the first is full.
      if (running > 0 && gathered.length === 1 && waited < limits.waitMs - 0.5) return;
      sendNext();
    }
  };

  return {
    schedule(send) {
      gathered.push({ send, since: performance.now() });
      // Never at once: DataLoader puts the key into its new batch only after this call, and a batch sent without it would
      // leave its look-up waiting for ever.
      if (running === 0 || gathered.length > 1) setImmediate(sendDue);
      setTimeout(sendDue, limits.waitMs);
    },
    async during(query) {
      try {
        return await query();
      } finally {
        running -= 1;
        setImmediate(sendDue);
      }
    },
  };
}
