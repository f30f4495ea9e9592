import { connect, type Socket } from 'node:net';
import { quantile } from './figures.ts';

/** A request and how its answer is judged. */
export interface Look {
  ruc: string;
  /** Text that a right answer contains. */
  expected: string;
}

export interface CallFigures {
  served: number;
  wrong: number;
  seconds: number;
  p50Ms: number;
  p99Ms: number;
}

/**
 * Runs `callers` keep-alive connections, which share the tokens, for `seconds` after `warmUpSeconds`; each sends again as soon as it is
 * answered. They are bare sockets, because a full HTTP client would use more CPU than the server that shares its two
 * cores.
 */
export async function callFor(
  url: string,
  tokens: readonly string[],
  next: () => Look,
  limits: { callers: number; warmUpSeconds: number; seconds: number },
): Promise<CallFigures> {
  const { hostname, port } = new URL(url);
  const latencies: number[] = [];
  let wrong = 0;
  const startsAt = performance.now() + limits.warmUpSeconds * 1_000;
  const endsAt = startsAt + limits.seconds * 1_000;
  const caller = async (number: number) => {
    const token = tokens[number % tokens.length];
    const connection = await openConnection(hostname, Number(port));
    const head = `HTTP/1.1\r\nHost: ${hostname}\r\nAuthorization: Bearer ${token}\r\n\r\n`;
    while (performance.now() < endsAt) {
      const look = next();
      const sentAt = performance.now();
      const answer = await connection.ask(`GET /id/v1/ruc/${look.ruc} ${head}`);
      const answeredAt = performance.now();
      if (answeredAt < startsAt || answeredAt > endsAt) continue;
      latencies.push(answeredAt - sentAt);
      if (!answer.startsWith('HTTP/1.1 200') || !answer.includes(look.expected)) wrong += 1;
    }
    connection.socket.destroy();
  };
  await Promise.all(Array.from({ length: limits.callers }, (_, number) => caller(number)));
  const [p50Ms, p99Ms] = [quantile(0.5, latencies), quantile(0.99, latencies)];
  return { served: latencies.length, wrong, seconds: limits.seconds, p50Ms, p99Ms };
}

export interface Connection {
  socket: Socket;
  /** Sends a request and returns the whole answer, head and body. Only one request may be open at a time. */
  ask(request: string): Promise<string>;
}

export async function openConnection(host: string, port: number): Promise<Connection> {
  const socket = connect(port, host);
  socket.setNoDelay(true);
  await new Promise<void>((resolve, reject) => socket.once('connect', resolve).once('error', reject));
  let text = '';
  let waiting: { resolve: (answer: string) => void; reject: (error: Error) => void } | undefined;
  // Latin-1 has one character per byte, so Content-Length can be compared with the text's length.
  socket.setEncoding('latin1');
  socket.on('data', (chunk: string) => {
    text += chunk;
    const bodyAt = text.indexOf('\r\n\r\n') + 4;
    if (bodyAt < 4) return;
    const length = Number(/content-length: (\d+)/i.exec(text)?.[1]);
    if (text.length < bodyAt + length) return;
    const answer = text;
    text = '';
    waiting?.resolve(answer);
  });
  const fail = () => waiting?.reject(new Error('the API closed a connection'));
  socket.on('close', fail);
  socket.on('error', fail);
  return {
    socket,
    ask: (request) =>
      new Promise((resolve, reject) => {
        waiting = { resolve, reject };
        socket.write(request);
      }),
  };
}
