import { AsyncLocalStorage } from 'node:async_hooks';
import {
  type Context,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import { parseTraceParent } from '@opentelemetry/core';
import type { Attributes, OpenUnit, Tracing, Unit } from './tracing.ts';

const kinds = {
  server: SpanKind.SERVER,
  client: SpanKind.CLIENT,
  consumer: SpanKind.CONSUMER,
  internal: SpanKind.INTERNAL,
} as const;

/** Units as spans of a tracer. Which unit runs is known by the chain of calls: nothing global, and nobody hands it on. */
export class Recording implements Tracing {
  readonly #tracer: Tracer;
  readonly #running = new AsyncLocalStorage<SpanUnit>();

  constructor(tracer: Tracer) {
    this.#tracer = tracer;
  }

  async during<Result>(unit: Unit, work: (unit: OpenUnit) => Promise<Result>): Promise<Result> {
    const { parent, others } = this.#placeOf(unit);
    const span = this.#tracer.startSpan(
      unit.name,
      {
        kind: kinds[unit.kind],
        ...(unit.attributes && { attributes: unit.attributes }),
        links: others.map((other) => ({ context: other.span.spanContext() })),
      },
      parent,
    );
    const open = new SpanUnit(span);
    // From both sides: who looks at one of the others finds what it waited for.
    for (const other of others) other.span.addLink({ context: span.spanContext() });
    try {
      return await this.#running.run(open, () => work(open));
    } catch (error) {
      open.fail(typeOf(error));
      throw error;
    } finally {
      span.end();
    }
  }

  current(): OpenUnit | undefined {
    return this.#running.getStore();
  }

  readonly logFields = (): { trace_id?: string } => {
    const running = this.#running.getStore();
    return running === undefined ? {} : { trace_id: running.span.spanContext().traceId };
  };

  #placeOf({ sharedBy, traceparent }: Unit): { parent: Context; others: readonly SpanUnit[] } {
    if (sharedBy !== undefined) {
      const sharers = [...new Set(sharedBy)].filter((sharer) => sharer instanceof SpanUnit);
      // One that is kept, if any is: else all that is kept would point to a span that is not.
      const first = sharers.find(({ isRecorded }) => isRecorded) ?? sharers[0];
      const others = sharers.filter((sharer) => sharer !== first && sharer.isRecorded);
      return { parent: within(first), others };
    }
    const running = this.#running.getStore();
    const remote = running === undefined && traceparent !== undefined ? parseTraceParent(traceparent) : null;
    if (remote === null) return { parent: within(running), others: [] };
    return { parent: trace.setSpanContext(ROOT_CONTEXT, { ...remote, isRemote: true }), others: [] };
  }
}

class SpanUnit implements OpenUnit {
  readonly span: Span;

  constructor(span: Span) {
    this.span = span;
  }

  get isRecorded(): boolean {
    return this.span.isRecording();
  }

  describe(attributes: Attributes, name?: string): void {
    this.span.setAttributes(attributes);
    if (name !== undefined) this.span.updateName(name);
  }

  fail(type: string): void {
    this.span.setAttribute('error.type', type);
    this.span.setStatus({ code: SpanStatusCode.ERROR });
  }
}

function within(unit: SpanUnit | undefined): Context {
  return unit === undefined ? ROOT_CONTEXT : trace.setSpan(ROOT_CONTEXT, unit.span);
}

/** Its class and never its message, which may quote a row or what a caller sent. */
function typeOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown';
  const { code } = error as Error & { code?: unknown };
  return typeof code === 'string' ? code : error.name;
}
