import { CompareError } from '../changes/errors.ts';
import { cellsOf, type TextLine } from './windows-1252.ts';

/**
 * Returns the known header that equals the first line of a text, cell by cell.
 * @throws CompareError `empty` when there is no line, `header_changed` when no header matches. The message never quotes
 *   the line, which may be a person's row.
 */
export function knownHeader<Layout extends { names: readonly string[] }>(
  first: TextLine | undefined,
  layouts: readonly Layout[],
): Layout {
  if (first === undefined) throw new CompareError('empty', 'The publication is empty.');
  const { cells } = cellsOf(first.bytes);
  const found = layouts.find(({ names }) => names.join('|') === cells.join('|'));
  if (found === undefined) throw new CompareError('header_changed', `The header changed: ${problem(cells, layouts)}.`);
  return found;
}

function problem(cells: readonly string[], layouts: readonly { names: readonly string[] }[]): string {
  const [first] = cells;
  if (first!.startsWith('ï»¿')) return 'it begins with a UTF-8 mark';
  if (/^\s*</.test(first!)) return 'the text is a web page (HTML)';
  if (/^\d/.test(first!)) return 'the first line is a row';
  const layout = layouts.find(({ names }) => names.length === cells.length);
  if (layout === undefined) {
    const known = [...new Set(layouts.map(({ names }) => names.length))].join(' or ');
    return `it has ${cells.length} cells, expected ${known}`;
  }
  const differs = layout.names.findIndex((name, column) => cells[column] !== name);
  return `column ${differs + 1} is not called ${layout.names[differs]}`;
}
