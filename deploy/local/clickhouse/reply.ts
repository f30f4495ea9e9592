import { randomBytes } from 'node:crypto';
import type { ServerResponse } from 'node:http';

/** What the engine reported about a query. A number that it did not report counts as 0. */
export type Summary = {
  rowsRead?: number;
  bytesRead?: number;
  rowsWritten?: number;
  bytesWritten?: number;
  /** In seconds. */
  elapsed?: number;
};

/** Time for the client to read the error at the end of a broken result, before the connection is cut. */
const breakOffAfterMs = 5_000;

const contentTypes: Record<string, string> = {
  TabSeparated: 'text/tab-separated-values; charset=UTF-8',
  TSV: 'text/tab-separated-values; charset=UTF-8',
  CSV: 'text/csv; charset=UTF-8; header=absent',
  CSVWithNames: 'text/csv; charset=UTF-8; header=present',
  JSON: 'application/json; charset=UTF-8',
  JSONCompact: 'application/json; charset=UTF-8',
  JSONEachRow: 'application/x-ndjson; charset=UTF-8',
  JSONCompactEachRow: 'application/x-ndjson; charset=UTF-8',
  RowBinary: 'application/octet-stream',
  Native: 'application/octet-stream',
  Parquet: 'application/octet-stream',
};

/** The answer to one query. It is sent with `whole`, or piece by piece with `begin`, `write` and `finish`. */
export class Reply {
  readonly #response: ServerResponse;
  readonly #version: string;
  #tag = '';
  #begun = false;

  constructor(response: ServerResponse, about: { queryId: string; version: string; timezone: string }) {
    this.#response = response;
    this.#version = about.version;
    // A header can hold ASCII only.
    response.setHeader('X-ClickHouse-Query-Id', about.queryId.replace(/[^\x20-\x7e]/g, '?'));
    response.setHeader('X-ClickHouse-Server-Display-Name', 'padron-local');
    response.setHeader('X-ClickHouse-Timezone', about.timezone);
  }

  get begun(): boolean {
    return this.#begun;
  }

  whole(format: string, body: Buffer, summary: Summary): void {
    this.#head(format, summary);
    this.#response.end(body);
  }

  /**
   * Sends the headers. `write` then sends the body piece by piece. When `write` returns false, wait for `onDrain`
   * before the next piece.
   */
  begin(format: string): void {
    this.#tag = randomBytes(8).toString('hex');
    this.#response.setHeader('X-ClickHouse-Exception-Tag', this.#tag);
    this.#head(format, {});
    this.#begun = true;
  }

  write(chunk: Buffer): boolean {
    return this.#response.write(chunk);
  }

  onDrain(then: () => void): void {
    this.#response.once('drain', then);
  }

  finish(): void {
    this.#response.end();
  }

  /**
   * Answers with the query's error. If rows were sent already, the error follows the rows between tags, as on
   * ClickHouse servers since 25.11. The connection then breaks off before the body's last chunk. Thus a client that
   * does not know the tags also sees that the result is incomplete.
   */
  fail(failure: QueryFailure): void {
    const text = `${failure.text} (version ${this.#version} (embedded))\n`;
    if (!this.#begun) {
      if (this.#response.headersSent) return;
      this.#response.statusCode = httpStatus(failure.code);
      this.#response.setHeader('Content-Type', 'text/plain; charset=UTF-8');
      this.#response.setHeader('X-ClickHouse-Exception-Code', String(failure.code));
      this.#response.end(text);
      return;
    }
    const mark = '__exception__';
    const trailer = `\r\n${mark}\r\n${this.#tag}\r\n${text}${Buffer.byteLength(text)} ${this.#tag}\r\n${mark}\r\n`;
    const { socket } = this.#response;
    this.#response.write(trailer, () => void setTimeout(() => socket?.destroy(), breakOffAfterMs).unref());
  }

  #head(format: string, summary: Summary): void {
    this.#response.statusCode = 200;
    this.#response.setHeader('Content-Type', contentTypes[format] ?? 'text/plain; charset=UTF-8');
    this.#response.setHeader('X-ClickHouse-Format', format);
    this.#response.setHeader('X-ClickHouse-Summary', summaryText(summary));
  }
}

function summaryText(summary: Summary): string {
  const { rowsRead = 0, bytesRead = 0, rowsWritten = 0, bytesWritten = 0, elapsed = 0 } = summary;
  return JSON.stringify({
    read_rows: String(rowsRead),
    read_bytes: String(bytesRead),
    written_rows: String(rowsWritten),
    written_bytes: String(bytesWritten),
    total_rows_to_read: '0',
    result_rows: String(rowsWritten),
    result_bytes: String(bytesWritten),
    elapsed_ns: String(Math.round(elapsed * 1e9)),
  });
}

/** An error in ClickHouse's form. It must never be logged, because the engine's texts quote rows and parameters. */
export class QueryFailure extends Error {
  override name = 'QueryFailure';
  readonly code: number;
  /** The body of the answer, such as `Code: 62. DB::Exception: … (SYNTAX_ERROR) (version …)`. */
  readonly text: string;

  constructor(code: number, text: string) {
    super(text);
    this.code = code;
    this.text = text;
  }
}

/** An error that this process found, in the form of the engine's errors. */
export function failure(code: number, type: string, message: string): QueryFailure {
  return new QueryFailure(code, `Code: ${code}. DB::Exception: ${message}. (${type})`);
}

/**
 * Turns an error of the native call into a QueryFailure. The engine may repeat its prefix and suffix around the error
 * text. The repeats are removed, because a ClickHouse server does not send them.
 * @param ours texts that this process added to the query; they are removed, so that a syntax error does not quote them
 */
export function asFailure(error: unknown, ours: string[] = []): QueryFailure {
  if (error instanceof QueryFailure) return error;
  let text = error instanceof Error ? error.message : String(error);
  for (const added of ours) text = text.replaceAll(added, '');
  text = text
    .replace(/^(?:Code: \d+\. DB::Exception: )+(?=Code: \d+\. DB::)/, '')
    .replace(/(\([A-Z0-9_]+\))(?: \(version [^)]*\)\. \([A-Z0-9_]+\))+$/, '$1');
  const code = Number(/^Code: (\d+)\./.exec(text)?.[1] ?? 0);
  if (code === 0) return new QueryFailure(1001, `Code: 1001. DB::Exception: ${text}. (STD_EXCEPTION)`);
  return new QueryFailure(code, text);
}

const badRequest = new Set([
  6, 15, 25, 26, 27, 36, 38, 41, 42, 43, 44, 53, 62, 72, 117, 167, 168, 223, 376, 427, 441, 675, 676,
]);
const notFound = new Set([46, 47, 50, 56, 60, 63, 73, 78, 81, 115, 336, 511]);
const others = new Map([
  [194, 401],
  [192, 403],
  [193, 403],
  [497, 403],
  [512, 403],
  [516, 403],
  [159, 408],
  [229, 413],
  [48, 501],
  [74, 503],
  [76, 503],
  [209, 503],
  [439, 503],
]);

/** The HTTP status for an error code, as in src/Server/HTTP/exceptionCodeToHTTPStatus.cpp of ClickHouse. */
export function httpStatus(code: number): number {
  if (badRequest.has(code)) return 400;
  if (notFound.has(code)) return 404;
  return others.get(code) ?? 500;
}
