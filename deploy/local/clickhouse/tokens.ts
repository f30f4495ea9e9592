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
 * The tokens of ClickHouse SQL that matter for finding clauses and statement ends: comments and spaces are left out, strings,
 * quoted names and heredocs are one token. Lazy, because what follows INSERT … FORMAT is data and no SQL.
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
