import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

/** A proxy in front of a real engine whose connections a test can cut and restore. */
export interface TcpProxy {
  /** The engine's URL with the proxy's address. */
  url: string;
  /** Breaks all connections and refuses new ones, like an engine that has ended. */
  cut(): Promise<void>;
  mend(): Promise<void>;
  /** Keeps and accepts connections but passes no byte on, like an engine that hangs. */
  freeze(): void;
  thaw(): void;
  /**
   * Leaves all connections open without an end or a byte, like a machine that was lost. New ones get no answer either,
   * until `moveTo`.
   */
  strand(): void;
  /** How many connections began after `strand` and got no answer. */
  unanswered(): number;
  /** Sends new connections to another engine, as a moved address does. */
  moveTo(engineUrl: string): void;
  stop(): Promise<void>;
}

export async function makeTcpProxy(engineUrl: string): Promise<TcpProxy> {
  let target: URL | null = new URL(engineUrl);
  const stranded = new WeakSet<Socket>();
  const sockets = new Set<Socket>();
  const pairs = new Set<readonly [Socket, Socket]>();
  let isFrozen = false;
  let unanswered = 0;
  const server = createServer((socket) => {
    if (target === null) return hold(socket);
    const upstream = connect(Number(target.port), target.hostname);
    const pair = [socket, upstream] as const;
    pairs.add(pair);
    for (const each of pair) {
      sockets.add(each);
      each.on('error', () => {});
      each.once('close', () => {
        sockets.delete(each);
        pairs.delete(pair);
        if (!stranded.has(socket)) socket.destroy();
        upstream.destroy();
      });
    }
    if (!isFrozen) join(pair);
  });
  /** Keeps a connection to which nobody answers. */
  const hold = (socket: Socket) => {
    unanswered += 1;
    stranded.add(socket);
    sockets.add(socket);
    socket.on('error', () => {});
    socket.once('close', () => sockets.delete(socket));
    socket.pause();
  };
  const port = await listen(server, 0);
  const url = new URL(engineUrl);
  url.hostname = '127.0.0.1';
  url.port = String(port);
  const cut = async () => {
    const closed = new Promise((resolve) => server.close(resolve));
    for (const socket of sockets) socket.destroy();
    await closed;
  };
  return {
    url: url.href,
    cut,
    freeze() {
      isFrozen = true;
      for (const each of sockets) each.unpipe().pause();
    },
    thaw() {
      isFrozen = false;
      for (const pair of pairs) join(pair);
    },
    strand() {
      target = null;
      for (const [socket, upstream] of pairs) {
        stranded.add(socket);
        socket.unpipe().pause();
        upstream.unpipe();
        upstream.destroy();
      }
    },
    unanswered: () => unanswered,
    moveTo(movedUrl) {
      target = new URL(movedUrl);
    },
    mend: async () => void (await listen(server, port)),
    stop: () => (server.listening ? cut() : Promise.resolve()),
  };
}

function join([one, other]: readonly [Socket, Socket]): void {
  one.pipe(other).pipe(one);
}

function listen(server: Server, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', () => {
      server.off('error', reject);
      resolve((server.address() as AddressInfo).port);
    });
  });
}
