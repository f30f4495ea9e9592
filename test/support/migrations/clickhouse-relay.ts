import { once } from 'node:events';
import { createServer, request as httpRequest, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import type { Relay } from './postgres-relay.ts';

/** `during`: the engine got the statement, and nobody waits for its end. `after`: the engine has answered. */
export type StatementFate = 'pass' | 'kill_before' | 'kill_during' | 'kill_after';

/**
 * A relay between a migration and ClickHouse that stops at a chosen statement and answers nothing from then on.
 * @param kill ends the migration
 */
export async function relayClickhouse(
  clickhouseUrl: string,
  fateOf: (statement: string) => Promise<StatementFate>,
  kill: () => Promise<void> = async () => {},
): Promise<Omit<Relay, 'refused'>> {
  let isDead = false;
  const server = createServer(async (request, response) => {
    const body = await buffer(request).catch(() => Buffer.alloc(0));
    const query = new URL(request.url!, clickhouseUrl).searchParams.get('query') ?? '';
    const fate = isDead ? 'kill_before' : request.method === 'POST' ? await fateOf(query + body.toString()) : 'pass';
    if (fate === 'kill_before') {
      if (!isDead) await kill();
      isDead = true;
      request.socket.destroy();
      return;
    }
    const { authorization = '' } = request.headers;
    const sent = httpRequest(new URL(request.url!, new URL(clickhouseUrl).origin), {
      method: request.method!,
      headers: { authorization },
      agent: false,
    });
    sent.on('error', () => {});
    sent.end(body);
    if (fate === 'pass') {
      const [answer] = (await once(sent, 'response')) as [IncomingMessage];
      response.statusCode = answer.statusCode!;
      return void response.end(await buffer(answer));
    }
    isDead = true;
    if (fate === 'kill_during') await once(sent, 'finish');
    else await buffer(((await once(sent, 'response')) as [IncomingMessage])[0]);
    await kill();
    sent.destroy();
    request.socket.destroy();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = new URL(clickhouseUrl);
  url.port = String((server.address() as AddressInfo).port);
  return {
    url: url.href,
    async close() {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}
