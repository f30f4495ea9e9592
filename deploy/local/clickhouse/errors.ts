/** A failure as ClickHouse tells it: number, name and text. Never logged: the engine's texts quote rows and parameters. */
export class QueryFailure extends Error {
  override name = 'QueryFailure';
  readonly code: number;
  /** The body of the answer: `Code: 62. DB::Exception: … (SYNTAX_ERROR) (version …)`. */
  readonly text: string;

  constructor(code: number, text: string) {
    super(text);
    this.code = code;
    this.text = text;
  }
}

/** A failure of this process itself, in the engine's form. */
export function failure(code: number, type: string, message: string): QueryFailure {
  return new QueryFailure(code, `Code: ${code}. DB::Exception: ${message}. (${type})`);
}

/**
 * What the native call threw, as a failure. The engine wraps its own text two or three times on some paths; a server sends it
 * once. `ours` are texts that we had added to the query: a syntax error quotes the query and must not show them.
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

/** The status a ClickHouse server answers with; as in its src/Server/HTTP/exceptionCodeToHTTPStatus.cpp. */
export function httpStatus(code: number): number {
  if (badRequest.has(code)) return 400;
  if (notFound.has(code)) return 404;
  return others.get(code) ?? 500;
}
