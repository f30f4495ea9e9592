import {
  type Context,
  context,
  ROOT_CONTEXT,
  type Span,
  type SpanOptions,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api';

/*
 * Makes spans by OpenTelemetry's own API. Without a collector, the API's no-op tracer runs, and the SDK is not loaded
 * (see start.ts). Attributes are our own ids, counts, and names of routes, topics and error classes. They never hold a
 * RUC, a person's name, a token, a query, a body, or other text of a caller, because readers of the traces see them.
 */

/**
 * Runs `work` in a span, which ends with the work. If the work throws, the span gets the error's class. The span never
 * gets the error's message, because a message may quote a row or a request.
 * @param parent by default the context of the active span
 */
export function inSpan<Result>(
  name: string,
  options: SpanOptions,
  work: (span: Span) => Promise<Result>,
  parent: Context = context.active(),
): Promise<Result> {
  // Each call gets a new tracer, because tests start and stop several providers. A stored tracer would go on sending to
  // a stopped one.
  return trace.getTracer('padron').startActiveSpan(name, options, parent, async (span) => {
    try {
      return await work(span);
    } catch (error) {
      failSpan(span, classOf(error));
      throw error;
    } finally {
      span.end();
    }
  });
}

/**
 * Runs work that several spans wait for, in a span of its own. This shared span is a child of one of the waiting spans.
 * The shared span and each other waiting span have links to each other. So a reader of any waiting span finds the work
 * that the span waited for.
 */
export function inSharedSpan<Result>(
  name: string,
  options: SpanOptions,
  waiting: readonly (Span | undefined)[],
  work: () => Promise<Result>,
): Promise<Result> {
  const spans = [...new Set(waiting)].filter((span) => span !== undefined);
  // A recorded span is preferred as the parent: under any other span, the shared span would not be recorded either.
  const first = spans.find((span) => span.isRecording()) ?? spans[0];
  const others = spans.filter((span) => span !== first && span.isRecording());
  return inSpan(
    name,
    { ...options, links: others.map((other) => ({ context: other.spanContext() })) },
    (span) => {
      for (const other of others) other.addLink({ context: span.spanContext() });
      return work();
    },
    first === undefined ? ROOT_CONTEXT : trace.setSpan(ROOT_CONTEXT, first),
  );
}

/** Marks a span as failed, also when nothing is thrown. @param errorClass a code or a class name, never a message */
export function failSpan(span: Span, errorClass: string): void {
  span.setAttribute('error.type', errorClass).setStatus({ code: SpanStatusCode.ERROR });
}

function classOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown';
  const { code } = error as Error & { code?: unknown };
  return typeof code === 'string' ? code : error.name;
}

/** Fields that connect a log line with the trace of the active span. */
export function traceLogFields(): { trace_id?: string } {
  const span = trace.getActiveSpan();
  return span === undefined ? {} : { trace_id: span.spanContext().traceId };
}
