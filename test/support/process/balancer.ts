import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { isReady, type RunningProcess } from './product-process.ts';

const pollMs = 200;
/** So many checks in a row must fail before a process gets no more connections. A busy one may miss a single check. */
const failuresToLeave = 3;

/**
 * A load balancer for TCP connections. It asks each process's /readyz five times a second and gives new connections to
 * the ready ones in turn, as HAProxy and Kubernetes do. Connections that are open stay where they are.
 */
export class Balancer {
  /** How many connections each process got. */
  readonly connections = new Map<RunningProcess, number>();
  readonly #processes = new Map<RunningProcess, { failures: number }>();
  readonly #server = createServer((socket) => this.#accept(socket));
  readonly #sockets = new Set<Socket>();
  readonly #timer = setInterval(() => void this.#poll(), pollMs);

  static async start(): Promise<Balancer> {
    const balancer = new Balancer();
    await new Promise<void>((resolve) => balancer.#server.listen(0, '127.0.0.1', resolve));
    return balancer;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** @param process is ready */
  add(process: RunningProcess): void {
    this.#processes.set(process, { failures: 0 });
  }

  remove(process: RunningProcess): void {
    this.#processes.delete(process);
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    const closed = new Promise((resolve) => this.#server.close(resolve));
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  async #poll(): Promise<void> {
    await Promise.all(
      [...this.#processes].map(async ([process, state]) => {
        state.failures = (await isReady(process)) ? 0 : state.failures + 1;
      }),
    );
  }

  #accept(socket: Socket): void {
    this.#sockets.add(socket.once('close', () => this.#sockets.delete(socket)));
    // The process that got the fewest connections is next. The map keeps the order, so equal ones take turns.
    const ready = [...this.#processes]
      .filter(([, state]) => state.failures < failuresToLeave)
      .map(([process]) => process);
    const next = ready.sort((one, other) => this.#count(one) - this.#count(other))[0];
    if (next === undefined) return void socket.destroy();
    this.connections.set(next, this.#count(next) + 1);
    const upstream = connect(Number(new URL(next.url).port), '127.0.0.1');
    const pair = [socket, upstream] as const;
    for (const one of pair) {
      one.on('error', () => {});
      one.once('close', () => pair.forEach((each) => void each.destroy()));
    }
    socket.pipe(upstream).pipe(socket);
  }

  #count(process: RunningProcess): number {
    return this.connections.get(process) ?? 0;
  }
}
