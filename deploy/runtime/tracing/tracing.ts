/**
 * What the units of work of a process tell about themselves when traces are on. Values may be read by whoever reads the traces:
 * ids of ours, counts, names of routes, topics and classes of errors; never a RUC, a person's name, a token, a query, a body, or
 * any other text of a caller.
 */
export type Attributes = Readonly<Record<string, string | number | boolean | undefined>>;

/** A request, a batch, a step, an attempt, a query: one span. */
export interface Unit {
  name: string;
  kind: 'server' | 'client' | 'consumer' | 'internal';
  attributes?: Attributes;
  /** The W3C header that came with it from outside; anything else than one valid value is as if there were none. */
  traceparent?: string | undefined;
  /** Units of this process that wait for it together: it is part of the first one's trace and linked with the others'. */
  sharedBy?: readonly (OpenUnit | undefined)[];
}

/** A unit under way. */
export interface OpenUnit {
  /** Whether what it tells goes anywhere: what costs something to find out need not be otherwise. */
  readonly isRecorded: boolean;
  describe(attributes: Attributes, name?: string): void;
  /** It did not do what it should. What is thrown says so by itself. @param type a class of errors, never a message */
  fail(type: string): void;
}

export interface Tracing {
  /** Runs the work as a unit, a part of the one that runs now unless `unit` says otherwise. The work's result or error is its own. */
  during<Result>(unit: Unit, work: (unit: OpenUnit) => Promise<Result>): Promise<Result>;
  /** The unit that runs now; undefined: none does, or traces are off. */
  current(): OpenUnit | undefined;
  /** For the log: what joins a line to the unit that wrote it. Undefined: traces are off. */
  logFields: (() => { trace_id?: string }) | undefined;
}

/** As a process starts it, and stops it last: others tell until they end. */
export interface RunningTracing {
  tracing: Tracing;
  /** Sends what is still held, for a bounded time. */
  stop(): Promise<void>;
}

const untold: OpenUnit = { isRecorded: false, describe() {}, fail() {} };

/** Traces are off: the work and nothing else. */
export const noTracing: Tracing = {
  during: (_unit, work) => work(untold),
  current: () => undefined,
  logFields: undefined,
};
