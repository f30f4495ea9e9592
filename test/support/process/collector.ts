import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';

/** An OTLP collector over HTTP that keeps everything it receives. */
export interface Collector {
  url: string;
  /** The environment that makes a process send its spans here, as JSON. */
  environment: Record<string, string>;
  requests: { path: string; headers: IncomingHttpHeaders; body: Buffer }[];
  /** The spans received so far, which must have come as JSON. */
  spans(): CollectedSpan[];
  /** Waits for at least one span with these attributes and returns all of them; rejects after `timeoutMs`. */
  find(attributes: Record<string, unknown>, timeoutMs?: number): Promise<CollectedSpan[]>;
  /** Everything received, to search for text that must not appear. */
  text(): string;
  close(): Promise<void>;
}

export interface CollectedSpan {
  /** The service name of the process that sent the span. */
  service: string;
  name: string;
  kind: number;
  traceId: string;
  spanId: string;
  parentSpanId: string | undefined;
  attributes: Record<string, unknown>;
  links: { traceId: string; spanId: string }[];
  /** Code 2 means failed. */
  status: { code?: number; message?: string };
  events: unknown[];
}

export async function startCollector(answers: 'takes' | 'refuses' | 'hangs' = 'takes'): Promise<Collector> {
  const requests: Collector['requests'] = [];
  const server = createServer(async (request, response) => {
    const pieces: Buffer[] = [];
    for await (const piece of request) pieces.push(piece as Buffer);
    requests.push({ path: request.url!, headers: request.headers, body: Buffer.concat(pieces) });
    if (answers === 'takes') response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
    if (answers === 'refuses') response.writeHead(403).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const spans = () => requests.flatMap(({ body }) => spansIn(JSON.parse(body.toString('utf8')) as Export));
  return {
    url,
    environment: { OTEL_EXPORTER_OTLP_ENDPOINT: url, OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json' },
    requests,
    spans,
    async find(attributes, timeoutMs = 15_000) {
      const until = Date.now() + timeoutMs;
      for (;;) {
        const found = spans().filter((span) =>
          Object.entries(attributes).every(([name, value]) => span.attributes[name] === value),
        );
        if (found.length > 0) return found;
        if (Date.now() > until) throw new Error(`no span has ${JSON.stringify(attributes)}`);
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    },
    text: () => requests.map(({ body }) => body.toString('latin1')).join('\n'),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

type Value = { stringValue?: string; intValue?: number | string; doubleValue?: number; boolValue?: boolean };
type Pairs = { key: string; value: Value }[];
interface Export {
  resourceSpans: {
    resource: { attributes: Pairs };
    scopeSpans: { spans: (Omit<CollectedSpan, 'service' | 'attributes'> & { attributes: Pairs })[] }[];
  }[];
}

function spansIn({ resourceSpans }: Export): CollectedSpan[] {
  return resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans.flatMap(({ spans }) =>
      spans.map((span) => ({
        ...span,
        service: String(valuesOf(resource.attributes)['service.name']),
        attributes: valuesOf(span.attributes),
      })),
    ),
  );
}

function valuesOf(pairs: Pairs): Record<string, unknown> {
  return Object.fromEntries(
    pairs.map(({ key, value }) => [
      key,
      value.stringValue ?? value.boolValue ?? value.doubleValue ?? Number(value.intValue),
    ]),
  );
}
