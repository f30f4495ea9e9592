import { expect, test } from 'vitest';
import { eventsOf, type StreamedEvent } from '../../../../api/client/event-stream.ts';

const text = [
  'retry: 2000\n: conectado\nid: 7\n\n',
  'data: {"evento":"ruc.alta","datos":{"ruc":"20990000019","despues":"Ñ: 1"}}\nid: 8\n\n',
  ': sigue abierto\nid: 12\n\n',
  'data: {"evento":"ruc.baja"}\nid: 1',
].join('');

/** A body whose chunks have `size` bytes, so that they are cut inside lines, blocks and letters. */
function bodyOf(size: number, onCancel = () => {}): ReadableStream<Uint8Array> {
  const bytes = new TextEncoder().encode(text);
  let at = 0;
  return new ReadableStream({
    pull(controller) {
      if (at >= bytes.length) return controller.close();
      controller.enqueue(bytes.subarray(at, at + size));
      at += size;
    },
    cancel: onCancel,
  });
}

test.each([1, 2, 7, 1_000])('gives each block whose end has arrived, in chunks of %i bytes', async (size) => {
  const found: StreamedEvent[] = [];
  for await (const block of eventsOf(bodyOf(size))) found.push(block);
  expect(found).toEqual([
    { id: '7', event: null },
    { id: '8', event: { evento: 'ruc.alta', datos: { ruc: '20990000019', despues: 'Ñ: 1' } } },
    { id: '12', event: null },
  ]);
});

test('a reader that stops closes the connection', async () => {
  let isClosed = false;
  const body = bodyOf(10, () => {
    isClosed = true;
  });
  for await (const { event } of eventsOf(body)) if (event !== null) break;
  expect(isClosed).toBe(true);
});
