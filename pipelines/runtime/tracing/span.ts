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
 * Spans by OpenTelemetry's own API. Without a collector its no-op tracer runs and the SDK is not loaded (start.ts).
 * Attributes are ids of ours, counts, and names of routes, topics and error classes. They never hold a RUC, a person's name,
 * a token, a query, a body, or any other text of a caller, because whoever reads the traces sees them.
 */

/**
 * Runs `work` in a span that ends with it. If it throws, the span gets the error's class, never its message, which may quote
 * a row or a request. @param parent by default the active span
 */
export function inSpan<Result>(
  name: string,
  options: SpanOptions,
  work: (span: Span) => Promise<Result>,
  parent: Context = context.active(),
): Promise<Result> {
  // The tracer is not kept: a kept one would go on sending to a provider that was stopped, as tests do several times.
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
 * Runs work that several spans wait for. Its span is a child of the first of them and linked with the others from both sides,
 * so that a reader who looks at any of them finds what it waited for.
 */
export function inSharedSpan<Result>(
  name: string,
  options: SpanOptions,
  waiting: readonly (Span | undefined)[],
  work: () => Promise<Result>,
): Promise<Result> {
  const spans = [...new Set(waiting)].filter((span) => span !== undefined);
  // A recorded span is preferred: under one that is not recorded, the shared span would not be recorded either.
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

/** Marks a span as failed where nothing is thrown. @param errorClass a code or a class name, never a message */
export function failSpan(span: Span, errorClass: string): void {
  span.setAttribute('error.type', errorClass).setStatus({ code: SpanStatusCode.ERROR });
}

function classOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown';
  const { code } = error as Error & { code?: unknown };
  return typeof code === 'string' ? code : error.name;
}

/** Joins a log line to the span that writes it. */
export function traceLogFields(): { trace_id?: string } {
  const span = trace.getActiveSpan();
  return span === undefined ? {} : { trace_id: span.spanContext().traceId };
}
