import { readFileSync } from 'node:fs';

/** What the document shows of an operation: a request's body and the answer to it. */
export interface Example {
  body?: unknown;
  answer?: unknown;
}
export type Examples = Readonly<Record<string, Example>>;

/** Real answers: the end-to-end suite asks for each again and compares (`vitest -u` writes them anew). */
export const examplesUrl = new URL('examples.json', import.meta.url);

export function readExamples(): Examples {
  return JSON.parse(readFileSync(examplesUrl, 'utf8')) as Examples;
}
