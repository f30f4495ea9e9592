import type { Publication } from '../../pipelines/editions/publications.ts';

/** A line per gate: what was found, what is allowed, and in words. */
export function gateLines(gates: Publication['gates']): string[] {
  if (gates.length === 0) return ['  no gate has judged it yet'];
  return gates.flatMap(({ gate, passed, value, limit, text }) => [
    `  ${passed ? 'passed' : 'FAILED'}  ${gate}  ${figure(value)}  limit ${figure(limit)}`,
    `          ${text}`,
  ]);
}

function figure(value: number | string | null): string {
  if (value === null) return 'none';
  return typeof value === 'number' ? value.toLocaleString('en', { maximumSignificantDigits: 6 }) : value;
}
