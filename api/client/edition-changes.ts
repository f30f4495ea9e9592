import type { EditionChange } from '../../schemas/http/editions.ts';

/** How often the rest of a file is asked for without any new byte, before the reader gets the error. */
const maxFailures = 5;
/** Pause after the first failure; after each further one it is as long again. */
const pauseMs = 1_000;

type Ask = (headers: Record<string, string>) => Promise<Response>;

/**
 * Yields the changes of a file of JSON lines as they arrive. When the connection breaks, it goes on after the last byte
 * that arrived, if the file is still the same. A reader that stops early closes the connection.
 * @param ask sends the request once more with these headers
 * @throws Error when the rest cannot be had; the lines so far are then not the whole edition
 */
export async function* changesOf(
  first: Response,
  ask: Ask,
  signal: AbortSignal | undefined,
): AsyncGenerator<EditionChange, void, undefined> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const bytes of wholeFile(first, ask, signal)) {
    const lines = `${rest}${decoder.decode(bytes, { stream: true })}`.split('\n');
    rest = lines.pop()!;
    for (const line of lines) yield JSON.parse(line) as EditionChange;
  }
  if (rest !== '') throw new Error('the file of changes ends within a line');
}

async function* wholeFile(
  first: Response,
  ask: Ask,
  signal: AbortSignal | undefined,
): AsyncGenerator<Uint8Array, void, undefined> {
  const etag = first.headers.get('etag') ?? '';
  const total = Number(first.headers.get('content-length') ?? Number.NaN);
  let response = first;
  let received = 0;
  let failures = 0;
  for (;;) {
    const reader = response.body!.getReader();
    let broken: unknown;
    try {
      for (;;) {
        const { done, value } = await reader.read().catch((error: unknown) => {
          broken = error;
          return { done: true, value: undefined } as const;
        });
        if (done) break;
        received += value.length;
        failures = 0;
        yield value;
      }
    } finally {
      await reader.cancel().catch(() => {});
    }
    signal?.throwIfAborted();
    // Without a length, which a proxy may have removed, a connection that ends well is the only sign of the end.
    if (broken === undefined && (received === total || Number.isNaN(total))) return;
    for (;;) {
      failures += 1;
      if (failures > maxFailures) throw broken ?? new Error(`the file of changes ends after ${received} bytes`);
      const next = await ask({ range: `bytes=${received}-`, 'if-range': etag }).catch((error: unknown) => {
        broken = error;
        return null;
      });
      signal?.throwIfAborted();
      if (next !== null) {
        if (next.status !== 206) throw new Error('the file of changes became another one during the download');
        response = next;
        break;
      }
      if (isFinal(broken)) throw broken;
      await pause(failures * pauseMs, broken);
    }
  }
}

/** Whether a repeat gets the same refusal. Only an answer that names a time to come again is worth one. */
function isFinal(error: unknown): boolean {
  return (error as { status?: number }).status !== undefined && retryAfterOf(error) === null;
}

function retryAfterOf(error: unknown): number | null {
  return (error as { retryAfterSeconds?: number | null }).retryAfterSeconds ?? null;
}

function pause(ms: number, error: unknown): Promise<void> {
  const seconds = retryAfterOf(error);
  return new Promise((resolve) => setTimeout(resolve, seconds === null ? ms : seconds * 1_000));
}
