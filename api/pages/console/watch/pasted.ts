import { refusalOfMember } from '../../../checks.ts';
import { maskText } from '../../../problems.ts';

// RUCs that somebody pasted: one in each line, or a table whose lines have one somewhere.

/** Largest number of lines that are read at once, empty ones left out. */
export const maxPastedLines = 1_000;

export interface PastedLine {
  /** Number of the line in the pasted text, from 1. */
  line: number;
  /** What stands in the cell that was read, without what may be a person's number. */
  shown: string;
  /** The company's RUC, or why the line has none. */
  outcome: { ruc: string } | { refusal: PasteRefusal };
}

export type PasteRefusal = NonNullable<ReturnType<typeof refusalOfMember>> | 'sin_ruc' | 'repetido';

export const refusalTexts: Readonly<Record<PasteRefusal, string>> = {
  ruc_formato: 'No es un RUC: tiene 11 dígitos y empieza con 10, 15, 16, 17 o 20.',
  ruc_digito_verificador: 'El dígito verificador no es correcto: hay un dígito equivocado.',
  solo_empresas: 'Es de una persona natural. Las listas admiten solo empresas.',
  sin_ruc: 'No tiene ningún número.',
  repetido: 'Ya está más arriba.',
};

/**
 * Reads one RUC from each line. Cells are separated by commas, semicolons, tabs or bars, and may stand in quotes. The
 * first cell of eleven digits is taken, else the first one with a digit. A first line without any number is a heading
 * and is left out. Empty lines are left out, too.
 */
export function readPasted(text: string): PastedLine[] {
  const seen = new Set<string>();
  const lines = text
    .split(/\r\n|\r|\n/)
    .map((content, index) => ({ line: index + 1, cells: cellsOf(content) }))
    .filter(({ cells }) => cells.some((cell) => cell !== ''));
  const isHeading = lines[0] !== undefined && lines.length > 1 && !lines[0].cells.some((cell) => /\d/.test(cell));
  return lines.slice(isHeading ? 1 : 0).map(({ line, cells }) => {
    const cell = cells.find((each) => /^\d{11}$/.test(each)) ?? cells.find((each) => /\d/.test(each));
    if (cell === undefined) return { line, shown: shortened(cells.join(' ')), outcome: { refusal: 'sin_ruc' } };
    const shown = shortened(maskText(cell));
    const refusal = refusalOfMember(cell);
    if (refusal !== null) return { line, shown, outcome: { refusal } };
    if (seen.has(cell)) return { line, shown, outcome: { refusal: 'repetido' } };
    seen.add(cell);
    return { line, shown, outcome: { ruc: cell } };
  });
}

/** Excel writes a text that looks like a number as `="20131312955"` in a CSV, and a browser may add a no-break space. */
function cellsOf(content: string): string[] {
  return content.split(/[,;\t|]/).map((cell) =>
    cell
      .replace(/[\s\u00A0\uFEFF]+/g, ' ')
      .trim()
      .replace(/^=?"(.*)"$/, '$1')
      .replace(/^'(.*)'?$/, '$1')
      .trim(),
  );
}

const maxShown = 40;

function shortened(text: string): string {
  return text.length > maxShown ? `${text.slice(0, maxShown)}…` : text;
}

/** Writes rows as CSV. A cell that a table program would take for a formula is marked as text. */
export function csvOf(rows: readonly (readonly string[])[]): string {
  const cellOf = (text: string) => {
    const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
    return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
  };
  // The mark at the start makes Excel read UTF-8.
  return `\uFEFF${rows.map((row) => row.map(cellOf).join(',')).join('\r\n')}\r\n`;
}
