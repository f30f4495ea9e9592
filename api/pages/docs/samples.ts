import type { Described, Parameter } from './described.ts';

// The same request in curl, JavaScript and Python.

/** A request to one operation: the values of its parameters, and its body as JSON text. */
export interface Asked {
  values: Readonly<Record<string, string>>;
  body: string | null;
}

/** Returns the request that the samples of an operation show: what is required, with the document's examples. */
export function exampleOf({ parameters, body }: Described): Asked {
  const shown = parameters.filter(({ required, in: place }) => required === true || place === 'path');
  const values = shown.map((each) => [each.name, exampleValue(each)]);
  return {
    values: Object.fromEntries(values) as Record<string, string>,
    body: body?.isRequired === true ? JSON.stringify(body.example ?? {}) : null,
  };
}

export function exampleValue({ name, schema }: Parameter): string {
  return String(schema.example ?? schema.default ?? schema.enum?.[0] ?? `<${name}>`);
}

/** Returns path and query. */
export function targetOf({ path, parameters }: Described, { values }: Asked): string {
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(values[name] ?? ''));
  const query = new URLSearchParams(
    parameters
      .filter(({ in: place, name }) => place === 'query' && values[name] !== undefined)
      .map(({ name }): [string, string] => [name, values[name]!]),
  ).toString();
  return query === '' ? filled : `${filled}?${query}`;
}

/** Returns the headers of the request, without the token. */
export function headersOf({ parameters }: Described, { values, body }: Asked): Record<string, string> {
  const given = parameters.filter(({ in: place, name }) => place === 'header' && values[name] !== undefined);
  return {
    ...Object.fromEntries(given.map(({ name }) => [name, values[name]!])),
    ...(body === null ? {} : { 'Content-Type': 'application/json' }),
  };
}

function isStream({ answers }: Described): boolean {
  return answers[0]?.type === 'text/event-stream';
}

/** @param token shown as it is; a variable of the shell by default */
export function curlOf(operation: Described, asked: Asked, origin: string, token = '$TOKEN'): string {
  const parts = [
    `curl ${isStream(operation) ? '-N' : '-s'}${operation.method === 'GET' ? '' : ` -X ${operation.method}`}`,
    `-H "Authorization: Bearer ${token}"`,
    ...Object.entries(headersOf(operation, asked)).map(([name, value]) => `-H ${quoted(`${name}: ${value}`)}`),
    ...(asked.body === null ? [] : [`-d ${quoted(asked.body)}`]),
    quoted(`${origin}${targetOf(operation, asked)}`),
  ];
  return parts.join(' \\\n  ');
}

/** Quotes for a shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

export function javascriptOf(operation: Described, asked: Asked, origin: string): string {
  const lines = Object.entries(headersOf(operation, asked)).map(
    ([name, value]) => `    '${name}': ${JSON.stringify(value)},`,
  );
  return [
    `const response = await fetch(${JSON.stringify(`${origin}${targetOf(operation, asked)}`)}, {`,
    ...(operation.method === 'GET' ? [] : [`  method: '${operation.method}',`]),
    '  headers: {',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the sample has a template
    '    Authorization: `Bearer ${token}`,',
    ...lines,
    '  },',
    ...(asked.body === null ? [] : [`  body: JSON.stringify(${indented(asked.body, 2)}),`]),
    '});',
    ...readingInJavascript(operation),
  ].join('\n');
}

function readingInJavascript(operation: Described): string[] {
  if (isStream(operation))
    return ['for await (const piece of response.body) console.log(new TextDecoder().decode(piece));'];
  const { type } = operation.answers[0] ?? { type: null };
  if (type === null) return ['console.log(response.status);'];
  if (type === 'application/json') return ['const answer = await response.json();', 'console.log(answer);'];
  return ['console.log(await response.text());'];
}

export function pythonOf(operation: Described, asked: Asked, origin: string): string {
  const { path, query } = split(targetOf(operation, asked));
  const headers = Object.entries(headersOf(operation, asked)).filter(([name]) => name !== 'Content-Type');
  return [
    'import requests',
    '',
    `response = requests.${operation.method.toLowerCase()}(`,
    `    ${JSON.stringify(`${origin}${path}`)},`,
    `    headers={"Authorization": f"Bearer {token}"${headers.map(([name, value]) => `, ${JSON.stringify(name)}: ${JSON.stringify(value)}`).join('')}},`,
    ...(query.length === 0
      ? []
      : [
          `    params={${query.map(([name, value]) => `${JSON.stringify(name)}: ${JSON.stringify(value)}`).join(', ')}},`,
        ]),
    ...(asked.body === null ? [] : [`    json=${pythonJson(indented(asked.body, 4))},`]),
    ...(isStream(operation) ? ['    stream=True,'] : []),
    ')',
    ...readingInPython(operation),
  ].join('\n');
}

function readingInPython(operation: Described): string[] {
  if (isStream(operation)) return ['for line in response.iter_lines():', '    print(line.decode())'];
  const { type } = operation.answers[0] ?? { type: null };
  if (type === null) return ['print(response.status_code)'];
  return [type === 'application/json' ? 'print(response.json())' : 'print(response.text)'];
}

function split(target: string): { path: string; query: [string, string][] } {
  const [path = '', query = ''] = target.split('?');
  return { path, query: [...new URLSearchParams(query)] };
}

/** Writes JSON over several lines, which all but the first begin with so many blanks. */
function indented(json: string, blanks: number): string {
  return JSON.stringify(JSON.parse(json), null, 2).replaceAll('\n', `\n${' '.repeat(blanks)}`);
}

/** JSON is Python but for three words. */
function pythonJson(text: string): string {
  const words: Readonly<Record<string, string>> = { true: 'True', false: 'False', null: 'None' };
  // Texts in quotes are matched first, so that a word inside of one stays.
  return text.replace(/"(?:[^"\\]|\\.)*"|\b(?:true|false|null)\b/g, (part) => words[part] ?? part);
}
