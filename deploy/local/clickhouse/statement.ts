import { failure } from './reply.ts';

/** A parsed query text. The texts of `select` and `insert-data` are cut where this process adds a clause of its own. */
export type Statement =
  /** The query to run is `body`, our INTO OUTFILE and `tail`. `tail` begins with FORMAT if the text names a format. */
  | { kind: 'select'; body: string; format: string | undefined; tail: string }
  /**
   * The query to run is `head`, our FROM INFILE, `settings` and FORMAT `format`. The text from `dataStart` on is data,
   * not SQL.
   */
  | { kind: 'insert-data'; head: string; settings: string; format: string; dataStart: number }
  | { kind: 'insert-select'; text: string }
  | { kind: 'command'; text: string; format: string | undefined; changesConnection: boolean };

/**
 * Parses one statement, which may end with a semicolon.
 * @throws QueryFailure 62 for an empty text or several statements (the engine would run them all), 358 for INTO
 *   OUTFILE, 78 for FROM INFILE, 48 for KILL QUERY
 */
export function readStatement(sql: string): Statement {
  const all: Token[] = [];
  let end = sql.length;
  for (const token of tokens(sql)) {
    if (token.text === ';') {
      end = Math.min(end, token.start);
      continue;
    }
    if (end < sql.length) throw several(token, sql);
    all.push(token);
    const insert = all.length > 1 && isWord(all[0]!, 'INSERT') ? insertWithData(sql, all) : undefined;
    if (insert !== undefined) return insert;
  }
  const first = all[0];
  if (first === undefined) throw failure(62, 'SYNTAX_ERROR', 'Syntax error: Empty query');
  refuseFiles(all);
  // A caller's KILL QUERY cannot work. It names the caller's id of a query, but the engine gives every query an id of
  // its own, and KILL QUERY … SYNC never returns. (runs.ts kills by the text of the query, ASYNC.)
  if (isWord(first, 'KILL') && isWord(all[1], 'QUERY'))
    throw failure(48, 'NOT_IMPLEMENTED', 'KILL QUERY is not supported by the embedded server: close the connection');
  const text = sql.slice(0, end).trimEnd();
  const kind = kindOf(all);
  if (kind === 'insert-select') return { kind, text };
  const at = formatClause(all);
  const format = at === undefined ? undefined : all[at + 1]!.text;
  if (kind === 'select') {
    const cut = at === undefined ? all.at(-1)!.end : all[at]!.start;
    return { kind, body: sql.slice(0, cut), format, tail: at === undefined ? '' : sql.slice(cut, end) };
  }
  return { kind, text, format, changesConnection: changesConnection(all) };
}

const isWord = (token: Token | undefined, ...words: string[]) =>
  token?.kind === 'word' && words.includes(token.text.toUpperCase());

function several(token: Token, sql: string) {
  const near = sql.slice(token.start, token.start + 40);
  return failure(
    62,
    'SYNTAX_ERROR',
    `Syntax error (Multi-statements are not allowed): failed at position ${token.start + 1}: ${near}`,
  );
}

/** Call it after each token of an INSERT. It returns undefined until the token after which the data begin. */
function insertWithData(sql: string, all: Token[]): Statement | undefined {
  const last = all.at(-1)!;
  const before = all.at(-2)!;
  if (last.depth !== 0) return undefined;
  const isData = isWord(last, 'VALUES') && all.length > 2 && !isWord(before, 'INTO', 'TABLE') && before.text !== '.';
  const isFormat = last.kind === 'word' && isWord(before, 'FORMAT') && before.depth === 0 && all.length > 4;
  if (!isData && !isFormat) return undefined;
  if (all.some((token) => token.depth === 0 && isWord(token, 'SELECT', 'WITH'))) return undefined;
  refuseFiles(all);
  const clause = isFormat ? before.start : last.start;
  const settings = all.find((token) => token.depth === 0 && isWord(token, 'SETTINGS') && token.start < clause);
  const cut = settings?.start ?? clause;
  // Skip a semicolon and the line end after the name of the format. The data begin after them.
  const between = isFormat ? /^[^\S\n]*;?[^\S\n]*\n?/.exec(sql.slice(last.end, last.end + 64))![0] : '';
  return {
    kind: 'insert-data',
    head: sql.slice(0, cut).trimEnd(),
    settings: sql.slice(cut, clause).trim(),
    format: isFormat ? last.text : 'Values',
    dataStart: last.end + between.length,
  };
}

function kindOf(all: Token[]): 'select' | 'insert-select' | 'command' {
  const top = all.filter((token) => token.depth === 0);
  if (isWord(all[0], 'INSERT')) return 'insert-select';
  if (isWord(all[0], 'WITH')) return top.some((token) => isWord(token, 'INSERT')) ? 'insert-select' : 'select';
  return isWord(all[0], 'SELECT', 'FROM') || all[0]!.text === '(' ? 'select' : 'command';
}

/** The index of FORMAT when the text ends with `FORMAT name` or `FORMAT name SETTINGS …`. */
function formatClause(all: Token[]): number | undefined {
  for (let at = all.length - 2; at > 0; at -= 1) {
    const isClause = all[at]!.depth === 0 && isWord(all[at], 'FORMAT') && all[at + 1]!.kind === 'word';
    if (isClause && (at + 2 === all.length || isWord(all[at + 2], 'SETTINGS'))) return at;
  }
  return undefined;
}

/** True for a statement that leaves its connection changed, so that no other query may use that connection. */
function changesConnection(all: Token[]): boolean {
  if (isWord(all[0], 'SET', 'USE', 'BEGIN', 'COMMIT', 'ROLLBACK')) return true;
  return isWord(all[0], 'CREATE', 'DROP') && all.slice(1, 5).some((token) => isWord(token, 'TEMPORARY'));
}

/**
 * Refuses INTO OUTFILE and FROM INFILE. A server refuses them over HTTP too, and here they would reach this machine's
 * files.
 */
function refuseFiles(all: Token[]): void {
  all.forEach((token, at) => {
    if (token.depth !== 0 || all[at + 2]?.kind !== 'quoted') return;
    if (isWord(token, 'INTO') && isWord(all[at + 1], 'OUTFILE'))
      throw failure(358, 'INTO_OUTFILE_NOT_ALLOWED', 'INTO OUTFILE is not allowed');
    if (isWord(token, 'FROM') && isWord(all[at + 1], 'INFILE'))
      throw failure(78, 'UNKNOWN_TYPE_OF_QUERY', 'Query has infile and was send directly to server');
  });
}

export type Token = { text: string; start: number; end: number; depth: number; kind: 'word' | 'quoted' | 'mark' };

const word = /[A-Za-z0-9_\u0080-\u2017\u201e-\uffff]/;
const quotes = new Map([
  ["'", "'"],
  ['"', '"'],
  ['`', '`'],
  ['‘', '’'],
  ['“', '”'],
]);

/**
 * Yields the tokens of ClickHouse SQL, without comments and spaces. A string, a quoted name or a heredoc is one token.
 * The text after INSERT … FORMAT is data, not SQL. The caller must stop before it.
 */
export function* tokens(sql: string): Generator<Token> {
  let at = 0;
  let depth = 0;
  while (at < sql.length) {
    const start = at;
    const char = sql[at]!;
    const skipped = skipSpaceOrComment(sql, at);
    if (skipped > at) {
      at = skipped;
      continue;
    }
    let kind: Token['kind'] = 'mark';
    if (quotes.has(char)) {
      kind = 'quoted';
      at = endOfQuoted(sql, at, quotes.get(char)!);
    } else if (char === '$' && /^\$[A-Za-z0-9_]*\$/.test(sql.slice(at, at + 64))) {
      kind = 'quoted';
      const fence = /^\$[A-Za-z0-9_]*\$/.exec(sql.slice(at, at + 64))![0];
      const close = sql.indexOf(fence, at + fence.length);
      at = close < 0 ? sql.length : close + fence.length;
    } else if (word.test(char)) {
      kind = 'word';
      while (at < sql.length && word.test(sql[at]!)) at += 1;
    } else at += 1;
    if (char === ')' || char === ']' || char === '}') depth -= 1;
    yield { text: sql.slice(start, at), start, end: at, depth, kind };
    if (char === '(' || char === '[' || char === '{') depth += 1;
  }
}

function skipSpaceOrComment(sql: string, from: number): number {
  if (/\s/.test(sql[from]!)) return from + 1;
  const two = sql.slice(from, from + 2);
  if (two === '--' || two === '#!' || two === '# ') {
    const newline = sql.indexOf('\n', from);
    return newline < 0 ? sql.length : newline + 1;
  }
  if (two !== '/*') return from;
  let level = 1;
  let at = from + 2;
  while (at < sql.length && level > 0) {
    if (sql.startsWith('*/', at)) level -= 1;
    else if (sql.startsWith('/*', at)) level += 1;
    else {
      at += 1;
      continue;
    }
    at += 2;
  }
  return at;
}

function endOfQuoted(sql: string, from: number, close: string): number {
  let at = from + 1;
  while (at < sql.length) {
    if (sql[at] === '\\') at += 2;
    else if (sql[at] !== close) at += 1;
    else if (sql[at + 1] === close) at += 2;
    else return at + 1;
  }
  return sql.length;
}
