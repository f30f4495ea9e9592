const word = /--[^\n]*|\/\*[\s\S]*?\*\/|'(?:[^']|'')*'|"[^"]*"|\$(\w*)\$[\s\S]*?\$\1\$|;|[^;'"$/-]+|[\s\S]/g;

/** Everything up to the end of each statement of a text in PostgreSQL's SQL. The last one has no end if the text has none. */
export function beginningsOf(text: string): string[] {
  const beginnings: string[] = [];
  let hasWords = false;
  for (const { 0: found, index } of text.matchAll(word)) {
    const isSpace = found.trim() === '' || found.startsWith('--') || found.startsWith('/*');
    if (found === ';') {
      if (hasWords) beginnings.push(text.slice(0, index + 1));
      hasWords = false;
    } else if (!isSpace) {
      hasWords = true;
    }
  }
  return hasWords ? [...beginnings, text] : beginnings;
}
