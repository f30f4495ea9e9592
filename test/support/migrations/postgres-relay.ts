import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

// A relay between a migration and PostgreSQL that reads the protocol's messages and stops at a chosen statement.

/** What becomes of a query: it passes, or the migration is killed after these first bytes of it were executed. */
export type Fate = 'pass' | { killAfter: string };

export interface Relay {
  /** The engine's address with the relay's place in it. */
  url: string;
  /** The beginnings that the engine refused: they do not end where a statement ends. */
  refused: readonly string[];
  close(): Promise<void>;
}

/**
 * @param fateOf gets each text that the migration sends as one message
 * @param kill ends the migration; the relay then closes the connection, and PostgreSQL never gets the rest
 */
export async function relayPostgres(
  databaseUrl: string,
  fateOf: (query: string) => Promise<Fate>,
  kill: () => Promise<void> = async () => {},
): Promise<Relay> {
  const target = new URL(databaseUrl);
  const refused: string[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const upstream = connect(Number(target.port), target.hostname);
    for (const [one, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(one);
      one.on('error', () => {});
      one.once('close', () => {
        sockets.delete(one);
        other.destroy();
      });
    }
    void passOn(client, upstream, { fateOf, kill, refused });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = new URL(databaseUrl);
  url.hostname = '127.0.0.1';
  url.port = String((server.address() as AddressInfo).port);
  return {
    url: url.href,
    refused,
    async close() {
      const closed = once(server, 'close');
      server.close();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}

async function passOn(
  client: Socket,
  upstream: Socket,
  { fateOf, kill, refused }: { fateOf: (query: string) => Promise<Fate>; kill: () => Promise<void>; refused: string[] },
): Promise<void> {
  let killing = false;
  let answered: (error: string | null) => void = () => {};
  const toClient = (async () => {
    let error: string | null = null;
    for await (const message of messagesOf(upstream)) {
      if (!killing) client.write(message);
      else if (message[0] === code('E')) error = message.toString('latin1');
      else if (message[0] === code('Z')) answered(error);
    }
  })();
  let isFirst = true;
  for await (const message of messagesOf(client, true)) {
    const fate = !isFirst && message[0] === code('Q') ? await fateOf(textOf(message)) : 'pass';
    isFirst = false;
    if (fate === 'pass') {
      upstream.write(message);
      continue;
    }
    killing = true;
    if (fate.killAfter !== '') {
      const executed = new Promise<string | null>((resolve) => {
        answered = resolve;
        upstream.once('close', () => resolve('the server closed the connection'));
      });
      upstream.write(queryMessage(fate.killAfter));
      const error = await executed;
      if (error !== null) refused.push(`${error}: ${fate.killAfter.slice(-300)}`);
    }
    await kill();
    client.destroy();
    upstream.destroy();
    break;
  }
  await toClient;
}

const code = (letter: string) => letter.charCodeAt(0);

function textOf(message: Buffer): string {
  return message.toString('utf8', 5, message.length - 1);
}

function queryMessage(text: string): Buffer {
  const bytes = Buffer.from(`${text}\0`);
  const message = Buffer.alloc(5 + bytes.length);
  message.write('Q');
  message.writeInt32BE(4 + bytes.length, 1);
  bytes.copy(message, 5);
  return message;
}

/** The whole messages of one side. A client's first message has no letter before its length. */
async function* messagesOf(socket: Socket, startsWithoutLetter = false): AsyncGenerator<Buffer> {
  let letter = startsWithoutLetter ? 0 : 1;
  let rest: Buffer = Buffer.alloc(0);
  try {
    for await (const chunk of socket) {
      rest = Buffer.concat([rest, chunk as Buffer]);
      while (rest.length >= letter + 4) {
        const length = letter + rest.readInt32BE(letter);
        if (rest.length < length) break;
        yield rest.subarray(0, length);
        rest = rest.subarray(length);
        letter = 1;
      }
    }
  } catch {
    // A socket that is destroyed ends its messages.
  }
}
