// Headers as people copy them: from a log, a debugger, curl or PHP's $_SERVER.

export interface NamedHeader {
  /** In lower case, with hyphens. */
  name: string;
  value: string;
}

/**
 * Reads a header from each line: `Name: value`, `"name": "value",` as in JSON, `-H 'Name: value'` as for curl,
 * `HTTP_X_NAME => value` as in PHP. Lines that are none of these are left out.
 */
export function readHeaders(text: string): NamedHeader[] {
  return text.split(/\r\n|\r|\n/).flatMap((line) => {
    const bare = line
      .trim()
      .replace(/^(-H|--header)\s+/, '')
      .replace(/\s*\\$/, '');
    const match = /^["'[{\s]*([A-Za-z][A-Za-z0-9_-]*)["'\]]*\s*(?:=>|:|=)\s*(.*)$/.exec(bare);
    if (match === null) return [];
    const name = match[1]!
      .toLowerCase()
      .replaceAll('_', '-')
      .replace(/^http-/, '');
    const value = match[2]!
      .trim()
      .replace(/[,;}]+$/, '')
      .trim()
      .replace(/^[["']+|[\]"']+$/g, '');
    return [{ name, value: value.trim() }];
  });
}
