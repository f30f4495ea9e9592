import { expect, test } from 'vitest';
import { makeClient, PadronError } from '../../../../api/client/client.ts';

const lines = Array.from({ length: 50 }, (_, at) => ({ edicion: 1, ruc: `2099${at}`, despues: { nombre: 'ÑANDÚ' } }));
const whole = new TextEncoder().encode(lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
const headers = { etag: '"a"', 'content-length': String(whole.length) };

type Answer = (range: string | null) => Response;

/** A client whose calls get these answers in turn, and the ranges that it asked for. */
function clientOf(...answers: Answer[]) {
  const ranges: (string | null)[] = [];
  const client = makeClient({
    baseUrl: 'http://api',
    token: 'x',
    async fetch(_input, init) {
      const sent = new Headers(init?.headers);
      ranges.push(sent.get('range'));
      expect([sent.get('accept'), sent.get('accept-encoding')]).toEqual(['application/x-ndjson', 'identity']);
      if (ranges.at(-1) !== null) expect(sent.get('if-range')).toBe('"a"');
      return answers[ranges.length - 1]!(ranges.at(-1)!);
    },
  });
  const read = async () => {
    const seen: unknown[] = [];
    for await (const change of await client.descargarCambios({ registro: 'sancionados', numero: '1' }))
      seen.push(change);
    return seen;
  };
  return { read, ranges };
}

const all: Answer = () => new Response(whole, { headers });
const rest: Answer = (range) =>
  new Response(whole.subarray(Number(/\d+/.exec(range!)![0])), { status: 206, headers: { etag: '"a"' } });
/** Ends the connection early, by a break or as if the answer were complete. */
const part =
  (from: number, to: number, isBroken: boolean): Answer =>
  () => {
    let isSent = false;
    const body = new ReadableStream({
      // A break discards what was not read yet, so it comes with the next pull.
      pull(controller) {
        if (!isSent) controller.enqueue(whole.subarray(from, to));
        else if (isBroken) controller.error(new TypeError('terminated'));
        else controller.close();
        isSent = true;
      },
    });
    return new Response(body, { status: from === 0 ? 200 : 206, headers });
  };
const refuse =
  (status: number, code: string, retryAfter?: string): Answer =>
  () =>
    new Response(JSON.stringify({ code, status, detail: code }), {
      status,
      headers: { 'content-type': 'application/problem+json', ...(retryAfter ? { 'retry-after': retryAfter } : {}) },
    });

test('yields each line of a file that arrives whole', async () => {
  expect(await clientOf(all).read()).toEqual(lines);
});

test('goes on after a break within a letter, and after an answer that is silently short', async () => {
  const middle = whole.indexOf(0xc3) + 1;
  const { read, ranges } = clientOf(part(0, middle, true), part(middle, middle + 40, false), rest);
  expect(await read()).toEqual(lines);
  expect(ranges).toEqual([null, `bytes=${middle}-`, `bytes=${middle + 40}-`]);
});

test('comes again when it is asked to', async () => {
  const { read, ranges } = clientOf(part(0, 100, true), refuse(503, 'edicion_en_preparacion', '0'), rest);
  expect(await read()).toEqual(lines);
  expect(ranges).toEqual([null, 'bytes=100-', 'bytes=100-']);
});

test('never goes on with another file, and gives a refusal to the reader', async () => {
  await expect(clientOf(part(0, 100, true), all).read()).rejects.toThrow('became another one');
  const refused = clientOf(part(0, 100, true), refuse(401, 'token_revocado')).read();
  await expect(refused).rejects.toBeInstanceOf(PadronError);
  await expect(clientOf(refuse(404, 'recurso_no_encontrado')).read()).rejects.toMatchObject({ status: 404 });
});
