import type { EventPayload } from '../../schemas/http/events.ts';

/** A block of the event stream. `event` is null in blocks without data, which come while no event passes the filter. */
export interface StreamedEvent {
  /** How far the stream has come. Pass the last one as `lastEventId` to continue there without a gap. */
  id: string;
  event: EventPayload | null;
}

/**
 * Yields the blocks of Server-Sent Events as they arrive, until the server ends the stream. A reader that stops early
 * closes the connection. Rejects when the connection breaks: the caller then asks again with the last id.
 */
export async function* eventsOf(body: ReadableStream<Uint8Array>): AsyncGenerator<StreamedEvent, void, undefined> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let rest = '';
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const blocks = `${rest}${decoder.decode(value, { stream: true })}`.split('\n\n');
      // The last piece is a block whose end has not arrived. It does not count if the connection is cut there.
      rest = blocks.pop()!;
      for (const block of blocks) {
        const { id, data } = fieldsOf(block);
        if (id === undefined) continue;
        yield { id, event: data === undefined ? null : (JSON.parse(data) as EventPayload) };
      }
    }
  } finally {
    // After the end of the stream this does nothing. Otherwise it closes the connection.
    await reader.cancel().catch(() => {});
  }
}

/** Reads the lines of a block, such as `id: 12`. A comment is a line that begins with a colon, so it has no name. */
function fieldsOf(block: string): { id?: string; data?: string } {
  return Object.fromEntries(
    block.split('\n').map((line) => {
      const colon = line.indexOf(':');
      return [line.slice(0, colon), line.slice(colon + 1).trimStart()];
    }),
  );
}
