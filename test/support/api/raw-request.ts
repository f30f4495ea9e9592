import { once } from 'node:events';
import { connect } from 'node:net';

/** Returns everything received until the other side closes. Each further piece is sent after something was received. */
export async function bytesOf(url: string, ...pieces: [string, ...string[]]): Promise<string> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname).on('error', () => {});
  let text = '';
  socket.setEncoding('utf8').on('data', (piece) => {
    text += piece;
  });
  const [first, ...rest] = pieces;
  socket.write(first);
  for (const piece of rest) {
    await once(socket, 'data');
    socket.write(piece);
  }
  if (!socket.closed) await once(socket, 'close');
  return text;
}

/** The answer to bytes after which the server closes the connection. */
export async function responseTo(url: string, bytes: string): Promise<Response> {
  const [head, body] = (await bytesOf(url, bytes)).split('\r\n\r\n') as [string, string];
  const [line, ...headers] = head.split('\r\n') as [string, ...string[]];
  const pairs = headers.map((each) => each.split(/: (.*)/).slice(0, 2) as [string, string]);
  return new Response(body, { status: Number(line.split(' ')[1]), headers: pairs });
}
