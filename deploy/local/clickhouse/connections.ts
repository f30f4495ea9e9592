import type { Connection, Native } from './native.ts';

/** What a connection was set up with; queries that agree in all of it may share one. */
export type ConnectionKey = { database: string; settings: ReadonlyMap<string, string> };

export type Lease = { connection: Connection; key: string };

/**
 * Set on every connection before the caller's own settings.
 * async_insert is on by default in 26.7 and would acknowledge later than it is asked; parallel formatting costs threads and
 * delays the first row; more than one insert thread may split one body into parts that become visible one by one.
 */
const ourSettings = new Map([
  ['async_insert', '0'],
  ['output_format_parallel_formatting', '0'],
  ['max_insert_threads', '1'],
]);

const quoted = (value: string) => `'${value.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
const named = (name: string) => `\`${name.replaceAll('\\', '\\\\').replaceAll('`', '\\`')}\``;

/** `SET …` for these settings. readonly comes last, since after it nothing can be set. */
export function setStatement(settings: ReadonlyMap<string, string>): string {
  const ordered = [...settings].sort(([a], [b]) => Number(a === 'readonly') - Number(b === 'readonly'));
  return `SET ${ordered.map(([name, value]) => `${name} = ${quoted(value)}`).join(', ')}`;
}

/**
 * Engine connections by (database, settings): settings are SET once per connection and stay with their key, so no later query
 * sees them. A connection that has met an error must be dropped, never given back: its output would begin the next result.
 */
export class Connections {
  readonly #native: Native;
  readonly #dataPath: string;
  readonly #maxIdle: number;
  /** Oldest first. */
  #idle: Lease[] = [];

  constructor(native: Native, dataPath: string, maxIdle: number) {
    this.#native = native;
    this.#dataPath = dataPath;
    this.#maxIdle = maxIdle;
  }

  /** @throws QueryFailure 115 for an unknown setting, 81 for an unknown database (as the native call's plain error) */
  async take(wanted: ConnectionKey): Promise<Lease> {
    const key = keyOf(wanted);
    const at = this.#idle.findLastIndex((lease) => lease.key === key);
    if (at >= 0) return this.#idle.splice(at, 1)[0]!;
    return { connection: await this.open(wanted), key };
  }

  async open(wanted: ConnectionKey): Promise<Connection> {
    const connection = this.#native.CreateConnection(this.#dataPath);
    try {
      await this.#native.QueryAsyncConnection(connection, `USE ${named(wanted.database)}`, 'Null');
      const settings = new Map([...ourSettings, ...wanted.settings]);
      await this.#native.QueryAsyncConnection(connection, setStatement(settings), 'Null');
      return connection;
    } catch (error) {
      this.#native.CloseConnection(connection);
      throw error;
    }
  }

  giveBack(lease: Lease): void {
    this.#idle.push(lease);
    while (this.#idle.length > this.#maxIdle) this.drop(this.#idle.shift()!);
  }

  /** Only when nothing runs on it any more. */
  drop(lease: { connection: Connection }): void {
    this.#native.CloseConnection(lease.connection);
  }

  close(): void {
    for (const lease of this.#idle.splice(0)) this.drop(lease);
  }
}

function keyOf({ database, settings }: ConnectionKey): string {
  return JSON.stringify([database, [...settings].sort(([a], [b]) => (a < b ? -1 : 1))]);
}
