import { Agent, request } from 'node:http';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type Serving, serve } from '../../../api/serve.ts';
import { silentLog } from '../../support/watch/harness.ts';

// Requests whose answer waits until the test lets it go.
let waiting: (() => void)[];
let serving: Serving;
let agent: Agent;
beforeEach(async () => {
  waiting = [];
  agent = new Agent({ keepAlive: true });
  serving = await serve(
    (incoming, response) => {
      if (incoming.url === '/slow') waiting.push(() => void response.end('slow'));
      else response.end('quick');
    },
    { host: '127.0.0.1', port: 0, baseUrl: '', log: silentLog },
  );
});
afterEach(async () => {
  agent.destroy();
  await serving.stop();
});

interface Answer {
  connection: string | undefined;
  text: string;
}

function ask(path: string): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const asked = request({ host: '127.0.0.1', port: serving.port, path, agent }, (response) => {
      let text = '';
      response.on('data', (piece) => {
        text += piece;
      });
      response.on('end', () => resolve({ connection: response.headers.connection, text }));
    });
    asked.once('error', reject).end();
  });
}

test('while the server drains it answers old and new connections, and each answer closes its connection', async () => {
  expect((await ask('/quick')).connection).toBe('keep-alive');
  const before = ask('/slow');
  await expect.poll(() => waiting.length).toBe(1);
  const drained = serving.drain(0);
  const during = await Promise.all([ask('/quick'), ask('/quick')]);
  waiting[0]!();
  expect([await before, ...during].map(({ connection }) => connection)).toEqual(['close', 'close', 'close']);
  await drained;
  expect((await ask('/quick')).text).toBe('quick');
});

test('a stop finishes the requests in flight and refuses new connections', async () => {
  const before = ask('/slow');
  await expect.poll(() => waiting.length).toBe(1);
  const stopped = serving.stop();
  await expect(ask('/quick')).rejects.toThrow('ECONNREFUSED');
  waiting[0]!();
  expect(await before).toEqual({ connection: 'close', text: 'slow' });
  await stopped;
});
